package engine

import (
	"errors"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/portals/keyring"
)

// TestConfig checks the defaults (MS-A12), and that invalid configurations are refused (MS-39).
func TestConfig(t *testing.T) {
	spec.Covers(t, "MS-39", "MS-A12")
	base := Config{Zone: "z", Self: testID(1)}
	c, err := base.Filled()
	if err != nil || c.Threshold != 2 || c.Successors != 2 || c.Random != 3 || c.Aggregation != 200*time.Millisecond ||
		c.Heartbeat != time.Second || c.Timeout != 3500*time.Millisecond {
		t.Errorf("%+v, %v", c, err)
	}
	for name, change := range map[string]func(*Config){
		"no zone":            func(c *Config) { c.Zone = "" },
		"zone with a space":  func(c *Config) { c.Zone = "a b" },
		"no id":              func(c *Config) { c.Self = wire.ID{} },
		"MS-39 K_s < Θ":      func(c *Config) { c.Threshold, c.Successors = 3, 2 },
		"negative threshold": func(c *Config) { c.Threshold = -1 },
		"K_r of 1":           func(c *Config) { c.Random = 1 },
		"many successors":    func(c *Config) { c.Successors = 33 },
		"short τ":            func(c *Config) { c.Aggregation = time.Microsecond },
		"short timeout":      func(c *Config) { c.Timeout = time.Second },
		"a view of one":      func(c *Config) { c.MaxMembers = 1 },
		"many attributes":    func(c *Config) { c.MaxKeys = wire.MaxTableKeys + 1 },
		"large attributes":   func(c *Config) { c.MaxAttributes = wire.MaxTable + 1 },
		"small messages":     func(c *Config) { c.MaxMessage = 100 },
		"larger than these":  func(c *Config) { c.MaxMessage, c.MaxAttributes = 64<<10, 64<<10 },
		"large messages":     func(c *Config) { c.MaxMessage = wire.MaxMessage + 1 },
		"many delegates":     func(c *Config) { c.Delegates = 99 },
		"table of another zone": func(c *Config) {
			c.Table = NewTable(10)
			if err := c.Table.use("other"); err != nil {
				t.Error(err)
			}
		},
		"full table": func(c *Config) { c.Table = NewTable(0) },
	} {
		c := base
		change(&c)
		m, err := New(c)
		if config := (*Error)(nil); err == nil || !errors.As(err, &config) && !errors.Is(err, errTableFull) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// TestTableFitsMessage: MS-39: the attributes of a node fit one message of the longest size that is configured.
func TestTableFitsMessage(t *testing.T) {
	spec.Covers(t, "MS-39")
	s := newSolo(t, 2, Config{Wire: true, MaxMessage: 64 << 10})
	size := s.m.cfg.MaxAttributes - (&wire.Attribute{Key: "k"}).Size()
	if err := s.m.Fits("k", make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := s.m.Fits("k", make([]byte, size+1)); err == nil {
		t.Error("a larger value is accepted")
	}
	table := &wire.Lists{Data: []wire.TableData{{Owner: s.ref[0], Entries: []wire.Attribute{{Key: "k", Value: make([]byte, size)}}}}}
	s.m.codec.AppendParts(nil, &wire.Message{Kind: wire.AttributeData, Lists: table}, 0, func(begin, end int) {
		if n := end - begin; n != s.m.cfg.MaxMessage-keyring.CodeSize { // a message without a code, as there is no key: it must leave room for one
			t.Errorf("%d bytes of %d", n, s.m.cfg.MaxMessage)
		}
	})
}
