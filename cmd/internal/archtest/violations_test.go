package archtest

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestViolationsAreCaught writes a small tree of packages that keeps every rule, breaks one
// rule at a time, and expects that exactly this violation is reported.
func TestViolationsAreCaught(t *testing.T) {
	sound := map[string]string{
		"lnet/nid/nid.go":             "// Package nid is here.\npackage nid\n",
		"lnet/wire/wire.go":           "// Package wire is here.\npackage wire\nimport _ \"ulnet/lnet/nid\"\n",
		"lnd/lnd.go":                  "// Package lnd is here.\npackage lnd\nimport _ \"ulnet/lnet/wire\"\n",
		"lnet/node.go":                "// Package lnet is here.\npackage lnet\nimport _ \"ulnet/lnd\"\n",
		"portals/table.go":            "// Package portals is here.\npackage portals\nimport _ \"ulnet/lnet\"\n",
		"lnd/socklnd/driver.go":       "// Package socklnd is here.\npackage socklnd\nimport (\n_ \"ulnet/lnd\"\n_ \"golang.org/x/sys/unix\"\n)\n",
		"lnd/lo/lo.go":                "// Package lo is here.\npackage lo\nimport _ \"ulnet/lnd\"\n",
		"lnd/toylnd/driver.go":        "// Package toylnd is here.\npackage toylnd\nimport (\n\"ulnet/lnd\"\n_ \"ulnet/lnd/toylnd/wire\"\n)\ntype d int\nfunc (d) Startup(lnd.Config, lnd.Upcalls) {}\n",
		"lnd/otherlnd/driver.go":      "// Package otherlnd is here.\npackage otherlnd\nimport \"ulnet/lnd\"\ntype d int\nfunc (d) Startup(lnd.Config, lnd.Upcalls) {}\n",
		"lnd/toylnd/wire/wire.go":     "// Package wire is here.\npackage wire\n",
		"cmd/lnetd/toy.go":            "package main\nimport _ \"ulnet/lnd/toylnd\"\n",
		"lnd/lndtest/suite.go":        "// Package lndtest is here.\npackage lndtest\nimport _ \"ulnet/lnd\"\n",
		"lnd/socklnd/driver_test.go":  "package socklnd_test\nimport (\n_ \"ulnet/lnd/socklnd\"\n_ \"ulnet/lnd/lndtest\"\n)\n",
		"gossip/gossip.go":            "// Package gossip is here.\npackage gossip\nimport _ \"ulnet/portals\"\n",
		"scoll/scoll.go":              "// Package scoll is here.\npackage scoll\nimport _ \"ulnet/portals\"\n",
		"health/health.go":            "// Package health is here.\npackage health\nimport _ \"ulnet/portals\"\n",
		"cmd/lnetd/main.go":           "// Command lnetd is here.\npackage main\nimport _ \"ulnet/lnd/socklnd\"\n",
		"cmd/lnetd/testdata/skip.go":  "this is not Go",
		"cmd/bench/go.mod":            "module ulnet/cmd/bench\n",
		"cmd/bench/main.go":           "// Command bench is here.\npackage main\nimport _ \"ulnet/lnd/lndtest/netlab\"\n",
		"cmd/bench/peers/go.mod":      "module ulnet/cmd/bench/peers\n",
		"cmd/bench/peers/main.go":     "package main\nimport _ \"example.com/grpc\"\n",
		"lnd/lo/bubble_test.go":       "package lo\nimport _ \"testing/synctest\"\n",
		"lnd/lo/virtual_test.go":      "package lo\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
		"lnet/discovery/discovery.go": "// Package discovery is here.\npackage discovery\nimport _ \"ulnet/portals\"\n",
	}
	tests := []struct {
		name, file, source, want string
	}{
		{"nothing", "", "", ""},
		{"upward", "lnet/wire/up.go", "package wire\nimport _ \"ulnet/portals\"\n", "lnet/wire/up.go imports portals"},
		{"to cmd", "portals/up.go", "package portals\nimport _ \"ulnet/cmd/lnetd\"\n", "portals/up.go imports cmd/lnetd"},
		{"driver to lnet", "lnd/lo/up.go", "package lo\nimport _ \"ulnet/lnet\"\n", "lnd/lo/up.go imports lnet"},
		{"driver to driver", "lnd/lo/side.go", "package lo\nimport _ \"ulnet/lnd/socklnd\"\n", "lnd/lo/side.go imports lnd/socklnd"},
		{"driver without rule to lnet", "lnd/toylnd/up.go", "package toylnd\nimport _ \"ulnet/lnet\"\n", "lnd/toylnd/up.go imports lnet"},
		{"driver without rule to another", "lnd/toylnd/x.go", "package toylnd\nimport _ \"ulnet/lnd/otherlnd\"\n", "lnd/toylnd/x.go imports lnd/otherlnd"},
		{"system calls of a driver without rule", "lnd/toylnd/x.go", "package toylnd\nimport _ \"golang.org/x/sys/unix\"\n", "lnd/toylnd/x.go imports golang.org/x/sys/unix"},
		{"stack to a driver without rule", "lnet/x.go", "package lnet\nimport _ \"ulnet/lnd/toylnd\"\n", "lnet/x.go imports lnd/toylnd"},
		{"gossip to scoll", "gossip/side.go", "package gossip\nimport _ \"ulnet/scoll\"\n", "gossip/side.go imports scoll"},
		{"scoll to health", "scoll/side.go", "package scoll\nimport _ \"ulnet/health\"\n", "scoll/side.go imports health"},
		{"health below portals", "health/down.go", "package health\nimport _ \"ulnet/lnd\"\n", "health/down.go imports lnd"},
		{"harness in production", "lnd/lo/x.go", "package lo\nimport _ \"ulnet/lnd/lndtest\"\n", "lnd/lo/x.go imports lnd/lndtest"},
		{"behind a build tag", "lnet/x.go", "//go:build ibverbs\n\npackage lnet\nimport \"C\"\n", "lnet/x.go imports C"},
		{"gopacket", "portals/x.go", "package portals\nimport _ \"github.com/google/gopacket/layers\"\n", "portals/x.go imports github.com/google/gopacket/layers"},
		{"system calls", "portals/x.go", "package portals\nimport _ \"golang.org/x/sys/unix\"\n", "portals/x.go imports golang.org/x/sys/unix"},
		{"cobra", "lnet/x.go", "package lnet\nimport _ \"github.com/spf13/cobra\"\n", "lnet/x.go imports github.com/spf13/cobra"},
		{"package without rule", "lnd/newlnd/x.go", "// Package newlnd is here.\npackage newlnd\n", "lnd/newlnd: no rule"},
		{"module beside the root's", "cmd/bench/x.go", "package main\nimport _ \"ulnet/lnd/lndtest\"\n", "cmd/bench/x.go imports lnd/lndtest"},
		{"folder at the root", "tools/x.go", "// Package tools is here.\npackage tools\n", "tools: code lives below"},
		{"no package comment", "health/health.go", "package health\n", "health: no package comment"},
		{"long file", "lnet/long.go", "package lnet\n" + strings.Repeat("\n", maxLines), "lnet/long.go: 601 lines"},
		{"sleeping test", "lnet/x_test.go", "package lnet\nimport \"time\"\nfunc g() { time.Sleep(1) }\n", "lnet/x_test.go:3:12: a test must not sleep"},
		{"unseen files", "lnet/x_test.go", "package lnet\nvar a = exec.Command(\"make\")\n", "lnet/x_test.go:2:9: a test that starts \"make\" calls effort.Anew"},
		{"clock", "portals/x.go", "package portals\nimport \"time\"\nvar t = time.Now()\n", "portals/x.go:3:9: this package reads no clock"},
		{"order of a map", "portals/x.go", "package portals\nvar m = map[int]int{}\nfunc f() { for range m {} }\n", "portals/x.go:3:12: a range over a map"},
		{"order of a field", "portals/x.go", "package portals\ntype t struct { m map[int]int }\nfunc f(x t) { for range x.m {} }\n", "portals/x.go:3:15: a range over a map"},
		{"order of an iterator", "portals/x.go", "package portals\nimport \"maps\"\nfunc f(x map[int]int) { for range maps.Keys(x) {} }\n", "portals/x.go:3:25: a range over a map"},
		{"goroutine", "portals/x.go", "package portals\nfunc f() { go f() }\n", "portals/x.go:2:12: this package starts no goroutine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := maps.Clone(sound)
			if tt.file != "" {
				tree[tt.file] = tt.source
			}
			got := inspect(t, tree)
			switch {
			case tt.want == "":
				if len(got) != 0 {
					t.Errorf("a sound tree is refused:\n%s", strings.Join(got, "\n"))
				}
			case !strings.Contains(strings.Join(got, "\n"), tt.want):
				t.Errorf("got %q, want a line with %q", got, tt.want)
			}
		})
	}
}

// inspect returns all violations that this package reports for a tree.
func inspect(t *testing.T, tree map[string]string) []string {
	t.Helper()
	pkgs := write(t, tree)
	return append(Arrows(pkgs, Rules, Limits), Habits(pkgs)...)
}

// write writes a tree to a folder and loads it.
func write(t *testing.T, tree map[string]string) []*Package {
	t.Helper()
	dir := t.TempDir()
	for name, source := range tree {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}
