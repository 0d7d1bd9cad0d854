package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
)

// TestHandlers: a file with handlers is read. Values that are missing there get defaults.
func TestHandlers(t *testing.T) {
	at := func(line, column int) config.Position { return config.Position{File: "f", Line: line, Column: column} }
	wantConfig(t, "handlers: {}\n", func(*config.Config) {})
	wantConfig(t, `handlers:
  b:
    on: [gossip, gossip.died]
    run: [logger, -t, "1"]
  a:
    on:
      - zone.left.dead
    run: [/bin/true]
    timeout: 1m
    interval: 100ms
    user: nobody
zone:
  name: z
`, func(c *config.Config) {
		c.Zone.Name, c.Zone.At = "z", at(13, 9)
		c.Handlers = []config.Handler{
			{Name: "b", OnAt: at(3, 9), On: []string{"gossip", "gossip.died"}, Run: []string{"logger", "-t", "1"}, Timeout: 30 * time.Second, Interval: time.Second},
			{Name: "a", OnAt: at(7, 7), UserAt: at(11, 11), On: []string{"zone.left.dead"}, Run: []string{"/bin/true"}, Timeout: time.Minute, Interval: 100 * time.Millisecond, User: "nobody"},
		}
	})
}

// TestHandlersRefused: what is wrong with a handler is reported with its position.
func TestHandlersRefused(t *testing.T) {
	const run = "    run: [/bin/true]\n"
	for _, test := range []struct{ text, want string }{
		{"handlers: []\n", "f:1:11: handlers: want lines of the form"},
		{"handlers:\n  a b:\n    on: [zone]\n" + run, "f:2:3: \"a b\" is no name: want"},
		{"handlers:\n  a:\n    on: [gossip]\n", "f:2:3: handler a: run is missing"},
		{"handlers:\n  a:\n" + run, "f:2:3: handler a: on is missing: a list of events, such as [zone.left]"},
		{"handlers:\n  a:\n    on: [gossip]\n    run: []\n", "f:4:10: run: the program is missing"},
		{"handlers:\n  a:\n    on: [gossip]\n    run: /bin/true\n", "f:4:10: run: want a list with a program"},
		{"handlers:\n  a:\n    on: [gossip]\n    run: [bin/true]\n", "f:4:10: run: bin/true: want an absolute path, or the name of a program in PATH"},
		{"handlers:\n  a:\n    on: [gossip]\n    run: [../true]\n", "f:4:10: run: ../true: want an absolute path"},
		{"handlers:\n  a:\n    on: gossip\n" + run, "f:3:9: on: want a list with events"},
		{"handlers:\n  a:\n    on: [gossip.died, gosip.died]\n" + run, `f:3:23: on: no event "gosip.died": want gossip, zone or health, with`},
		{"handlers:\n  a:\n    on: [zone.jioned]\n" + run, `f:3:10: on: no event "zone.jioned": zone has joined, left, attributes, suspected, `},
		{"handlers:\n  a:\n    on: [zone.listed]\n" + run, `f:3:10: on: no event "zone.listed": zone has `},
		{"handlers:\n  a:\n    on: [zone.left.killed]\n" + run, `f:3:10: on: no event "zone.left.killed": zone.left has said, dead, restarted, corrected, parted`},
		{"handlers:\n  a:\n    on: [gossip.died.dead]\n" + run, `f:3:10: on: no event "gossip.died.dead": gossip has died, alive, `},
		{"handlers:\n  a:\n    on: ['']\n" + run, `f:3:10: on: no event "": want gossip`},
		{"handlers:\n  a:\n    on: [gossip]\n    timeout: 5ms\n" + run, "f:4:14: timeout: want a time from 10ms to 1h0m0s"},
		{"handlers:\n  a:\n    on: [gossip]\n    interval: 0\n" + run, "f:4:15: interval: want a time from 100ms to 1h0m0s"},
		{"handlers:\n  a:\n    on: [gossip]\n    usr: nobody\n" + run, `f:4:5: unknown key "usr"`},
		{"handlers:\n  a:\n    on: [zone.left]\n" + run, "f:3:9: handler a: on: zone.left: this node is in no zone: set name in the section zone"},
		{"handlers:\n  a:\n    on: [health]\n" + run, "f:3:9: handler a: on: health: this node has no part in client health: set server or client in the section health"},
	} {
		wantRefused(t, test.text, test.want)
	}
	var many strings.Builder
	for i := range config.MaxHandlers + 1 {
		fmt.Fprintf(&many, "  h%d:\n    on: [gossip]\n%s", i, run)
	}
	wantRefused(t, "handlers:\n"+many.String(), "f:194:3: handler h64: there are 64 already")
}

// TestSelectsEvent: a selector matches whole words only.
func TestSelectsEvent(t *testing.T) {
	for _, test := range []struct {
		selector, event string
		want            bool
	}{
		{"zone", "zone.left.dead", true},
		{"zone.left", "zone.left.dead", true},
		{"zone.left.dead", "zone.left.dead", true},
		{"zone.left.dead", "zone.left.said", false},
		{"zone.left.dead", "zone.left", false},
		{"zone.le", "zone.left.dead", false},
		{"zo", "zone.left", false},
		{"", "zone.left", false},
		{"gossip.alive", "gossip.alive", true},
	} {
		if got := config.SelectsEvent(test.selector, test.event); got != test.want {
			t.Errorf("%q of %q: %v", test.selector, test.event, got)
		}
	}
	for _, name := range []string{"gossip.died", "gossip.no-quorum", "zone.joined", "zone.left.dead", "health.evicted.timed-out", "health.master-lost", "health.quorum-won"} {
		if !strings.Contains(" "+strings.Join(config.EventNames(), " ")+" ", " "+name+" ") {
			t.Errorf("no %s among %v", name, config.EventNames())
		}
	}
}
