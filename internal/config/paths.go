package config

import (
	"reflect"
	"strings"
)

// locate puts every path of the configuration in its place: the store's, the socket's,
// calendars', and those of the keys whose names end in File.
func (c *Config) locate() {
	if path := c.DatabaseFile(); path != "" {
		c.Store.URL = "sqlite:" + beside(c.File, path)
	}
	if c.Server.Socket != SocketOff {
		c.Server.Socket = beside(c.File, c.Server.Socket)
	}
	locateFiles(c.File, reflect.ValueOf(c).Elem())
	if t := c.Approvals.Tools; t != nil {
		for i, r := range t.OnDuty {
			if path := r.CalendarFile(); path != "" {
				t.OnDuty[i].Calendar = Secret(beside(c.File, path))
			}
		}
	}
}

func locateFiles(config string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			locateFiles(config, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			locateFiles(config, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			locateFiles(config, value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() == reflect.String && strings.HasSuffix(v.Type().Field(i).Tag.Get("yaml"), "File") {
				f.SetString(beside(config, f.String()))
				continue
			}
			locateFiles(config, f)
		}
	}
}
