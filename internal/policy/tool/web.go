package tool

import (
	"net/netip"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// The members of tools that fetch or search. The lists are closed: a member that is in no
// list asks.
var (
	// urlKeys name what is fetched.
	urlKeys = lazy.Words("url urls uri uris href link links")

	// askKeys are free text: what is looked for, or why.
	askKeys = lazy.Words(`prompt query queries q search searchterm searchquery objective question explanation
		description reason intent title category topic toolsummary taskprogress`)

	// searched are those of them that a search service is sent.
	searched = lazy.Words("query queries q search searchterm searchquery")

	// methodKeys say how it is fetched.
	methodKeys = lazy.Words("method httpmethod verb httpverb requestmethod")

	// bodyKeys hold what is sent.
	bodyKeys = lazy.Words(`body data payload json form formdata formfields postdata postbody requestbody requestdata
		rawbody bodytext multipart file files upload uploads attachment attachments
		content contents fields`)

	// viewKeys hold a number, a flag or a word that says how much is told, and how.
	viewKeys = lazy.Words(`format outputformat extractmode mode type raw timeout timeoutms timeoutseconds maxchars
		maxlength maxbytes maxtokens maxresults maxuses limit count num numresults
		offset start startindex page pagesize pages top topk country region language lang locale searchlang uilang
		hl gl freshness recency timerange timeperiod dateafter datebefore
		fromdate todate startdate enddate startpublisheddate endpublisheddate livecrawl contextmaxcharacters
		contextsize searchcontextsize searchdepth text safesearch tokensnum
		includeimages includeanswer includerawcontent enableimageunderstanding enablevideounderstanding
		followredirects redirects maxredirects markdown
		maxtokensperpage toolcallid blocking waitforprevious`)

	// siteKeys limit a search to sites.
	siteKeys = lazy.Words(`alloweddomains blockeddomains includedomains excludedomains domainfilter domains
		allowedxhandles excludedxhandles site sites`)
)

// onlyReads reports a method of HTTP that does not change the server's state.
func onlyReads(method string) bool { return words.Any(strings.ToUpper(method), "GET", "HEAD") }

// web reads a tool that fetches or searches. several: its member "requests" is a list of what another tool gets alone.
func (r *Params) web(list []field, resource, several bool) {
	r.Found.Add(finding.NetworkRead)
	for i := range list {
		f := &list[i]
		known := !f.odd && (f.direct() || several && f.root == "requests") // what is in an object may be a part of a request
		given := !f.off() && f.Text != "null"
		server := resource && f.Key == "server"
		asks := askKeys.Has(f.Key) || siteKeys.Has(f.Key) && f.Str
		switch {
		case known && given && bodyKeys.Has(f.Key):
			r.Found.Add(finding.SendsData)
		case known && f.absent():
			continue
		case known && urlKeys.Has(f.Key):
			r.urls(f)
			continue
		case known && methodKeys.Has(f.Key):
			if !onlyReads(f.Text) {
				r.Found.Add(finding.SendsData)
			}
			continue
		case known && server && f.harmless(): // one of those that the runtime is connected to
			continue
		case known && asks:
			if f.Str && searched.Has(f.Key) && workspace.Carries(f.Text) {
				r.Found.Add(finding.SendsData)
			}
		case known && viewKeys.Has(f.Key) && f.harmless():
			if m := strings.ToUpper(f.Text); httpMethods.Has(m) {
				r.Found.Add(finding.SendsData)
			}
			continue
		case outKeys.Has(f.Key) && f.Str && f.Text != "":
			r.Found.Add(finding.SavesDownload)
			r.Write(workspace.PathWord(f.Text))
		default:
			r.Found.Add(finding.UnknownParameters)
		}
		if f.Str {
			r.AddressesIn(f.Text)
			r.hostsIn(f.Text, !askKeys.Has(f.Key))
		}
	}
}

// httpMethods send something or change it.
var httpMethods = lazy.Words("POST PUT PATCH DELETE CONNECT OPTIONS TRACE")

// urls judges a member that names what is fetched: an address, or several.
func (r *Params) urls(f *field) {
	if !f.Str {
		r.Found.Add(finding.OddAddress)
		return
	}
	text := strings.TrimSpace(f.Text)
	r.Address(text)
	if strings.ContainsAny(text, " \t\r\n") || strings.Count(text, "://") > 1 {
		for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n,;|", c) }) {
			r.Address(part)
		}
		for _, part := range strings.Split(text, "://")[1:] {
			r.Address("http://" + part)
		}
	}
}

// hostsIn judges the words of a text that name a machine without a scheme. In free text
// these are IP addresses, localhost and hosts that hand out credentials; in a member that
// is not known, all words with a dot or a port.
func (r *Params) hostsIn(text string, unknown bool) {
	for w := range strings.FieldsSeq(text) {
		w = strings.Trim(w, "\"'`<>(),;!?.")
		if w == "" || strings.Contains(w, "://") {
			continue
		}
		host := strings.ToLower(words.CutAny(strings.TrimLeft(w, "/"), "/?#"))
		if rest, ok := strings.CutPrefix(host, "["); ok {
			host, _, _ = strings.Cut(rest, "]")
		} else if name, port, ok := strings.Cut(host, ":"); ok && words.Digits(port) {
			host = name
		}
		_, err := netip.ParseAddr(host)
		switch {
		case err == nil && (strings.Count(host, ".") == 3 || strings.Count(host, ":") > 1),
			unknown && strings.HasPrefix(host, "0x"),
			host == "localhost", strings.ContainsAny(host, ".") && workspace.MetadataHosts.Has(host),
			unknown && strings.ContainsAny(w, ".:") && !strings.HasPrefix(w, "."):
			r.Address(strings.TrimLeft(w, "/"))
		}
	}
}
