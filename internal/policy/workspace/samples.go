package workspace

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What a search finds is tried on lines as files have them, since there are too many ways to write a pattern.

// secretVariables begin lines that hold secrets.
var secretVariables = sync.OnceValue(func() []string {
	return strings.Fields(`DATABASE_URL=postgres://u0:x@10.0.0.5:5432/d0?sslmode=disable MONGO_URL=mongodb+srv://u0:x@c0.mongodb.net/d0
		SLACK_URL=https://hooks.slack.com/T DB_PASSWORD= STRIPE_SECRET_KEY=sk_live_ OPENAI_API_KEY=sk-proj- ANTHROPIC_API_KEY=sk-ant-
		AWS_SECRET_ACCESS_KEY= AWS_ACCESS_KEY_ID=AKIA SESSION_SECRET= SENDGRID_API_KEY=SG. GITHUB_TOKEN=ghp_ SLACK_BOT_TOKEN=xoxb- JWT_SECRET= REDIS_URL=
		SMTP_PASSWORD= SENTRY_DSN=https:// TWILIO_AUTH_TOKEN= GOOGLE_API_KEY=AIza NPM_TOKEN=npm_ PRIVATE_KEY=`)
})

// settings are lines that stand beside secrets in many files.
var settings = sync.OnceValue(func() []string {
	return strings.Split(strings.Trim(`
NODE_ENV=development
RAILS_ENV=production
APP_ENV=local
APP_NAME="My App"
APP_URL=http://localhost:3000
DEBUG=true
LOG_LEVEL=info
HOST=localhost
PORT=8080
DB_HOST=127.0.0.1
DB_PORT=5432
DB_USER=postgres
DB_NAME=app
REDIS_HOST=redis
EMAIL_FROM=noreply@example.com
TZ=UTC
DEBUG=false
REDIS_PORT=6379
SMTP_HOST=smtp.gmail.com
services:
    environment:
stringData:
kind: Secret
  datasource:
# Database
# Local settings
[default]
region = us-east-1
output = json
development:
production:
  username: admin
  database: app
  adapter: postgresql
  "type": "service_account",
  "project_id": "app",
  "client_email": "app@example.com",
`, "\n"), "\n")
})

// besideSecrets are lines of which a word that is not about secrets finds the whole: of files that a shell reads, of .netrc and of git's
// settings, addresses with a password, and the text of keys.
var besideSecrets = sync.OnceValue(func() []string {
	return strings.Split(strings.Trim(`
export API_X0=0
machine h0.example.com login u0 password
url = https://u0:x@git0.example.com/o0/r0.git
url = https://u0:x@github.com/o0/r0.git
url = https://u0:x@gitlab.com/o0/r0.git
url = https://u0:x@bitbucket.org/o0/r0.git
//npm0.example.com/:_authToken=npm_
-----END
QyNTUxOQAAACB
extraheader = AUTHORIZATION: basic
MAILER_DSN=smtp://u0:x@mail0.example.com:587
DB_URL=postgres://admin:x@localhost:5432/production
CONNECTION=mysql://user:x@db0.cluster.eu-west-1.rds.amazonaws.com:3306/app_production
AUTH_SALT= WEBHOOK_URL= SIGNING_ SIGNATURE_ ENCRYPTION_ LICENSE_ CERT_ CERTIFICATE= _PIN= CONN_STR=
ssh-rsa AAAAB3NzaC1yc2E
MIIEvQIBADANBgkqhkiG9w0BAQEFAASC
MIIEowIBAAKCAQEA
b3BlbnNzaC1rZXktdjEAAAAABG5vbmU
`, "\n"), "\n")
})

// InSecretLines reports a pattern that finds a line with a secret, though it is not about secrets. folds: letter case does not count.
func InSecretLines(pattern string, folds bool) bool { return finds(pattern, folds, besideSecrets()) }

// findsVariable reports a pattern that finds the beginning of a line with a secret. Most patterns of code begin with a letter
// with which none of their parts that tell anything does, or have a blank, which no such line has: they are not compiled.
func findsVariable(pattern string) bool {
	other := pattern != "" && strings.IndexByte("cdfquwy", pattern[0]) >= 0 || strings.Contains(pattern, " ")
	if other && !strings.ContainsAny(pattern, "|*?{[") {
		return false
	}
	return finds(pattern, false, secretVariables())
}

// InSettings reports a pattern that finds one of the lines which stand beside secrets in many files. folds: letter case does
// not count.
func InSettings(pattern string, folds bool) bool { return finds(pattern, folds, settings()) }

// finds reports a pattern that matches one of the lines in one of the grammars in which searches take it: as it is, as an
// extended regular expression, or as a basic one. One that is too long to be tried matches.
func finds(pattern string, folds bool, lines []string) bool {
	if len(pattern) > maxPattern {
		return true
	}
	literal := regexp.QuoteMeta(pattern)
	kinds := []string{literal, pattern, basic.Replace(pattern)}
	for i, kind := range kinds {
		if slices.Contains(kinds[:i], kind) {
			continue
		}
		if folds {
			kind = "(?i)" + kind
		}
		if !folds && i == 0 {
			if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, pattern) }) {
				return true
			}
			continue
		}
		if re, err := regexp.Compile(kind); err == nil && slices.ContainsFunc(lines, re.MatchString) {
			return true
		}
	}
	return false
}

// basic writes a basic regular expression as an extended one.
var basic = strings.NewReplacer(`\\`, `\\`, `\(`, "(", `\)`, ")", `\{`, "{", `\}`, "}", `\|`, "|", `\+`, "+", `\?`, "?",
	"(", `\(`, ")", `\)`, "{", `\{`, "}", `\}`, "|", `\|`, "+", `\+`, "?", `\?`)
