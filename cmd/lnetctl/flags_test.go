package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

func TestTimeoutFlag(t *testing.T) {
	for _, test := range []struct {
		text string
		want time.Duration // the expected timeout; 0: an error
	}{
		{"5", 5 * time.Second}, // a number without a unit is in seconds, as in the kernel's tool
		{"500ms", 500 * time.Millisecond},
		{"2147483647", 2147483647 * time.Second},
		{"2147483648", 0},
		{"5s", 5 * time.Second},
		{"1m30s", 90 * time.Second},
		{"0", 0},
		{"-1s", 0},
		{"soon", 0},
		{"99999999999999999999", 0},
	} {
		c := new(cobra.Command)
		v := timeoutFlag(c, "timeout", "", "")
		err := c.ParseFlags([]string{"--timeout", test.text})
		if (err == nil) != (test.want > 0) || err == nil && v.value != test.want {
			t.Errorf("%s: %v, error %v, want %v", test.text, v.value, err, test.want)
		}
	}
}

func TestVerbosity(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		level int // the expected level; -1: an error
		rest  int
	}{
		{"none", nil, 0, 0},
		{"short", []string{"-v"}, 1, 0},
		{"short with level", []string{"-v", "2"}, 2, 0},
		{"long with level", []string{"--verbose=3"}, 3, 0},
		{"NID and level", []string{"10.0.0.1@tcp", "-v", "4"}, 4, 1},
		{"a number without -v", []string{"2"}, 0, 1},
		{"more than there is", []string{"-v", "5"}, 4, 0},
		{"negative", []string{"--verbose=-1"}, -1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := new(cobra.Command)
			level := addVerbose(c)
			if err := c.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			rest, err := takeLevel(c, level, c.Flags().Args())
			if (err != nil) != (test.level < 0) {
				t.Fatalf("error %v", err)
			}
			if err == nil && (*level != test.level || len(rest) != test.rest) {
				t.Errorf("level %d, %d arguments, want %d and %d", *level, len(rest), test.level, test.rest)
			}
		})
	}
}

func TestSizeFlag(t *testing.T) {
	for _, test := range []struct {
		text string
		want sizeValue
		ok   bool
		back string
	}{
		{"0", 0, true, "0"},
		{"1000", 1000, true, "1000"},
		{"64K", 64 << 10, true, "64K"},
		{"64k", 64 << 10, true, "64K"},
		{"4M", 4 << 20, true, "4M"},
		{"4096K", 4 << 20, true, "4M"},
		{"1G", 1 << 30, true, "1G"},
		{"18446744073709551615", 1<<64 - 1, true, "18446744073709551615"},
		{"17179869184G", 0, false, ""},
		{"-1", 0, false, ""},
		{"K", 0, false, ""},
		{"4 M", 0, false, ""},
		{"1.5M", 0, false, ""},
		{"4MB", 0, false, ""},
		{"", 0, false, ""},
	} {
		var s sizeValue
		err := s.Set(test.text)
		if (err == nil) != test.ok || s != test.want {
			t.Errorf("%q: %d, error %v, want %d", test.text, s, err, test.want)
		}
		if test.ok && s.String() != test.back {
			t.Errorf("%q prints as %s, want %s", test.text, &s, test.back)
		}
	}
}

// TestLetters: options have the same single letters as in the kernel's tool.
func TestLetters(t *testing.T) {
	for verb, letters := range map[string]map[string]string{
		"export":           {"b": "backup"},
		"import":           {"a": "add", "d": "del", "s": "show", "e": "exec"},
		"udsp add":         {"s": "src", "d": "dst", "r": "rte", "p": "priority", "i": "idx"},
		"udsp del":         {"a": "all", "i": "idx"},
		"udsp show":        {"i": "idx"},
		"ping":             {"s": "source", "t": "timeout"},
		"discover":         {"f": "force"},
		"net add":          {"n": "net", "i": "if", "p": "ip2net", "t": "peer-timeout", "c": "peer-credits", "b": "peer-buffer-credits", "r": "credits", "s": "cpt", "m": "conns-per-peer"},
		"net set":          {"n": "nid", "t": "health", "m": "conns-per-peer", "a": "all"},
		"peer add":         {"k": "prim_nid", "n": "nid", "m": "non_mr", "i": "ip2nets", "l": "lock_prim"},
		"route add":        {"n": "net", "g": "gateway", "c": "hop", "p": "priority"},
		"lnet configure":   {"a": "all", "l": "large"},
		"debug recovery":   {"l": "local", "p": "peer"},
		"fault drop add":   {"s": "source", "d": "dest", "r": "rate", "i": "interval", "p": "portal", "m": "message", "e": "health_error"},
		"fault delay del":  {"a": "all", "s": "source", "d": "dest"},
		"fault delay add ": {"l": "latency"},
	} {
		c, _, err := root(cli.Env{Getenv: func(string) string { return "" }}).Find(strings.Fields(verb))
		if err != nil {
			t.Fatal(err)
		}
		for letter, name := range letters {
			if f := c.Flags().ShorthandLookup(letter); f == nil || f.Name != name {
				t.Errorf("%s: -%s is not --%s", verb, letter, name)
			}
		}
	}
}

// TestParseTargets tests lists and ranges of NIDs.
func TestParseTargets(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string // the expected targets, or the description of the expected error
	}{
		{[]string{"10.0.0.1@tcp", "12345-10.0.0.2@tcp1"}, "12345-10.0.0.1@tcp 12345-10.0.0.2@tcp1"},
		{[]string{"10.0.0.1@tcp,10.0.0.3@tcp"}, "12345-10.0.0.1@tcp 12345-10.0.0.3@tcp"},
		{[]string{"10.0.0.[1-2,4]@tcp"}, "12345-10.0.0.1@tcp 12345-10.0.0.2@tcp 12345-10.0.0.4@tcp"},
		{[]string{"10.0.0.1@tcp", "nosuch"}, "no valid NIDs in string"},
		{[]string{"nosuch@tcp"}, "invalid NID in nidstr"},
		{[]string{"10.0.0.[1-2@tcp"}, "invalid NID in nidstr"},
		{[]string{"10.0.[0-255].[0-255]@tcp"}, "invalid NID in nidstr"},
		{[]string{"10.0.[0-15].[0-255]@tcp", "10.1.0.1@tcp"}, "invalid NID in nidstr"},
	} {
		targets, err := parseTargets("ping", test.args)
		if err != nil {
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q: %v, want %s", test.args, err, test.want)
			}
			continue
		}
		var texts []string
		for _, one := range targets {
			texts = append(texts, one.String())
		}
		if got := strings.Join(texts, " "); got != test.want {
			t.Errorf("%q: %s, want %s", test.args, got, test.want)
		}
	}
}

// TestParts: each command has the name by which its part of the tree is found.
func TestParts(t *testing.T) {
	env := cli.Env{Getenv: func(string) string { return "" }}
	for _, command := range topCommands {
		list := part(env, command.name).Commands()
		if len(list) != 1 || list[0].Name() != command.name {
			t.Errorf("%s: %v", command.name, list)
		}
	}
	if part(env, "nosuch").HasSubCommands() {
		t.Error("a command that does not exist has a part")
	}
}
