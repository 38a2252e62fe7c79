package effective

import (
	"reflect"

	"approvalbot/internal/config"
	"approvalbot/internal/platform"
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
	for _, name := range platform.Names() {
		keep("channels."+name, c.Channels.Bots[name].SameBot(running.Channels.Bots[name]))
	}
	c.Server.Listen, c.Server.TLS, c.Store = running.Server.Listen, running.Server.TLS, running.Store
	c.Server.Socket = running.Server.Socket
	c.Server.PublicURL, c.Server.Web = running.Server.PublicURL, running.Server.Web
	c.Channels = c.Channels.Each(func(name string, bot *config.Channel) {
		was := running.Channels.Bots[name]
		bot.BotToken, bot.APIURL, bot.Updates = was.BotToken, was.APIURL, was.Updates
	})
	return fixed
}
