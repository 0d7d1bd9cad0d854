package config

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestWithoutArguments: a program is shown by its path, without its arguments.
func TestWithoutArguments(t *testing.T) {
	spec.Covers(t, "OP-5")
	for key, values := range map[string][2]string{
		"handlers.mail.run":             {"[/bin/mail, -H, token]", "[/bin/mail, ...]"},
		"handlers.log.run":              {"[/bin/logger]", "[/bin/logger]"},
		"handlers.mail.on":              {"[gossip, health]", "[gossip, health]"},
		"handlers":                      {"{}", "{}"},
		"scoll.admin.actions.a.run":     {"[/bin/a, token]", "[/bin/a, ...]"},
		"scoll.admin.actions.a.timeout": {"3s", "3s"},
		"networks":                      {"[tcp, o2ib]", "[tcp, o2ib]"},
	} {
		if got := WithoutArguments(key, values[0]); got != values[1] {
			t.Errorf("%s: %s is shown as %s, want %s", key, values[0], got, values[1])
		}
	}
	if c := (KeyChange{Key: "handlers.mail.run", Old: "[/bin/mail, token-1]", New: "[/bin/mail, token-2]"}); c.String() != "handlers.mail.run: [/bin/mail, ...] -> [/bin/mail, ...]" {
		t.Errorf("a log line has arguments: %v", c)
	}
}
