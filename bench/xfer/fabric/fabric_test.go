package fabric

import (
	"testing"
	"time"
)

func TestConfigIsChecked(t *testing.T) {
	good := Config{Groups: [][]Rail{{{}, {}}, {{}, {}}}}.Defaults()
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"no groups":   func(c *Config) { c.Groups = nil },
		"no rails":    func(c *Config) { c.Groups = [][]Rail{{}} },
		"uneven":      func(c *Config) { c.Groups = [][]Rail{{{}, {}}, {{}}} },
		"many groups": func(c *Config) { c.Groups = make([][]Rail, maxGroups+1); c.Groups[0] = []Rail{{}} },
		"depth":       func(c *Config) { c.Depth = 1025 },
		"batch":       func(c *Config) { c.Batch = -1 },
		"coalesce":    func(c *Config) { c.Coalesce = -1 },
		"window":      func(c *Config) { c.Window = -1 },
		"nap":         func(c *Config) { c.Nap = time.Minute },
		"waiting":     func(c *Config) { c.Waiting = 3 },
	} {
		c := good
		spoil(&c)
		if c.check() == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
