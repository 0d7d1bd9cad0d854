package main

import (
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
	"ulnet/cmd/internal/modules"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
)

// verbs returns the commands below c that have no commands below themselves.
func verbs(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.RunE != nil && !sub.HasSubCommands() && !sub.Hidden {
			list = append(list, sub)
		}
		list = append(list, verbs(sub)...)
	}
	return list
}

// notReading are verbs that change something, send messages or payload, wait for events, write
// files, or print text that is not the answer of a node.
var notReading = strings.Fields("add del set reset evict drain undrain reload watch ping discover configure unconfigure import save " +
	"put get sink serve partition heal pause resume fail level profile doctor bugreport setup-mrrouting setup-sysctl list-commands version help quit exit")

// arguments has, by verb, the arguments of those reading verbs that need some.
var arguments = map[string]string{
	"lnetctl path": "0@lo", "lnetctl cpt-of-nid": "0@lo", "lnetctl client show": "nosuch", "lnetctl debug recovery": "--local",
	"lnetctl debug nidlist": "0@lo", "lnetctl debug peer": "--nid 127.0.0.1@tcp", "lnetctl diff": "{empty}", "lnetctl config diff": "{empty}",
	"lnetctl config check": "{empty}",
}

// serveWhole starts a daemon with a node on loopback.
func serveWhole(t *testing.T) (socket string) {
	t.Helper()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = "tcp(127.0.0.1)", int(port)
	n, err := node.New(node.Config{Config: cfg, Modules: modules.List})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	log := daemon.NewLog(cli.Env{Getenv: func(string) string { return "" }, Stderr: t.Output()}, io.Discard, &cfg)
	settings := daemon.NewSettings(&config.Loaded{Config: cfg}, n, log)
	return serveNode(t, slices.Concat(n.Routes(), log.Routes(), settings.Routes()), new(control.Events))
}

// TestReadingVerbsPrintJSON: each verb that reads prints JSON with --json. A verb reads if a cli.Question made it, if
// arguments has it, or if it prints something without arguments and is not in notReading. On a node without client
// health, the verbs of client health fail and print nothing.
func TestReadingVerbsPrintJSON(t *testing.T) {
	f := &fakeServer{socket: serveWhole(t)}
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, []byte("global:\n    retry_count: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, verb := range verbs(root(cli.Env{Getenv: os.Getenv})) {
		path := verb.CommandPath()
		if slices.Contains(notReading, verb.Name()) || strings.HasPrefix(path, "lnetctl set ") {
			continue
		}
		args := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(path+" "+arguments[path], "lnetctl "), "{empty}", empty))
		code, out, errs := f.lnetctl(t.Context(), append(args, "--json")...)
		_, reads := arguments[path]
		reads = reads || verb.Annotations[cli.Reads] != ""
		switch noun := args[0]; {
		case !reads && (code != 0 || out == ""): // it changes something, and most such verbs need arguments
		case code == 0:
			read++
			if !json.Valid([]byte(out)) {
				t.Errorf("%s --json is not JSON (a verb that does not read is in notReading):\n%s", path, out)
			}
		case out != "" || noun != "client" && noun != "server" && noun != "health":
			t.Errorf("%s --json: exit code %d, %s%s\nif it needs arguments, arguments has those with which it reads", path, code, out, errs)
		}
	}
	if read < 23 {
		t.Errorf("%d verbs read, expected more", read)
	}
}
