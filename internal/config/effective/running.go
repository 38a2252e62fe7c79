package effective

import (
	"reflect"

	"approvalbot/internal/config"
)

// KeepRunning copies from the running configuration the settings that cannot
// change without a restart, and names the keys that differ in the file.
func KeepRunning(c *config.Config, running config.Config) (fixed []string) {
	keep := func(key string, same bool) {
		if !same {
			fixed = append(fixed, key)
		}
	}
	keep("server.listen", c.Server.Listen == running.Server.Listen)
	keep("server.socket", c.Server.Socket == running.Server.Socket)
	keep("server.tls", c.Server.TLS == running.Server.TLS)
	keep("server.publicUrl", c.Server.PublicURL == running.Server.PublicURL)
	keep("server.web", reflect.DeepEqual(c.Server.Web, running.Server.Web))
	keep("store", c.Store == running.Store)
	t, rt := c.Channels.Telegram, running.Channels.Telegram
	keep("channels.telegram", t.BotToken == rt.BotToken && t.APIURL == rt.APIURL && t.Updates == rt.Updates)
	x, rx := c.Channels.Discord, running.Channels.Discord
	keep("channels.discord", x.BotToken == rx.BotToken && x.APIURL == rx.APIURL && x.Updates == rx.Updates)
	c.Server.Listen, c.Server.TLS, c.Store = running.Server.Listen, running.Server.TLS, running.Store
	c.Server.Socket = running.Server.Socket
	c.Server.PublicURL, c.Server.Web = running.Server.PublicURL, running.Server.Web
	t.BotToken, t.APIURL, t.Updates = rt.BotToken, rt.APIURL, rt.Updates
	x.BotToken, x.APIURL, x.Updates = rx.BotToken, rx.APIURL, rx.Updates
	c.Channels.Telegram, c.Channels.Discord = t, x
	return fixed
}
