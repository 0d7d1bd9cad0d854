package node_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// importing reads a configuration file with a text, which imports another file with a text.
func importing(t *testing.T, text, file string) *config.Loaded {
	t.Helper()
	l := loaded(t, text)
	var err error
	if l.Imported, err = tree.Read([]byte(file)); err != nil {
		t.Fatal(err)
	}
	l.LNetConf = "lnet.conf"
	return l
}

// startImporting starts a node with a configuration, without applying the imported file.
func startImporting(t *testing.T, l *config.Loaded, log *slog.Logger) *node.Node {
	t.Helper()
	n, err := node.New(node.Config{Config: l.Config, Imported: l.Imported, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// aFile is a file with something of every kind that a node can import.
const aFile = `net:
  - net type: tcp
    local NI(s):
      - nid: 127.0.0.81@tcp
        tunables:
          peer_credits: 16
  - net type: tcp1
    local NI(s):
      - nid: 127.0.0.82@tcp1
route:
  - net: o2ib
    gateway: 127.0.0.9@tcp
    hop: -1
    priority: 2
peer:
  - primary nid: 127.0.0.7@tcp
    peer ni:
      - nid: 127.0.0.7@tcp
      - nid: 127.0.0.7@tcp1
udsp:
  - src: tcp
    priority: 1
global:
  retry_count: 3
  transaction_timeout: 60
  drop_asym_route: 0
`

// TestConfigureImportsAgain: when LNet is configured again after it was taken down, with the networks of the
// configuration, the node has what its files have, also the imported one. Settings are those that it had when LNet
// was taken down, also where a command has changed them.
func TestConfigureImportsAgain(t *testing.T) {
	port := freePort(t)
	for name, own := range map[string]string{
		"only the imported file has networks": "networks: lo\n",
		"its tunables take precedence":        "networks: tcp(127.0.0.81)\nroutes: o2ib7 127.0.0.9@tcp\n",
	} {
		t.Run(name, func(t *testing.T) {
			n := startImporting(t, importing(t, port+own, aFile+"routing: {enable: 1}\nbuffers: {tiny: 600}\n"), nil)
			if err := n.Import(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, s := range []node.Setting{{Name: "retry_count", Value: 1}, {Name: "drop_asym_route", Value: 1}, {Name: "tiny_buffers", Value: 700}} {
				if err := n.Set(s); err != nil {
					t.Fatal(err)
				}
			}
			before := state(t, n)
			for _, text := range []string{"peer_credits: 16", "127.0.0.82@tcp1", "net: o2ib", "127.0.0.7@tcp1", "udsp:", "enable: 1", "tiny: 700", "retry_count: 1", "drop_asym_route: 1"} {
				if !strings.Contains(before, text) {
					t.Errorf("no %q after the start\n%s", text, before)
				}
			}
			takeDown(t, n)
			if _, err := n.Configure(t.Context(), upAll); err != nil {
				t.Fatal(err)
			}
			if after := state(t, n); after != before {
				t.Errorf("configured again\n%s\nbefore LNet was taken down\n%s", after, before)
			}
		})
	}
}

// TestConfigureImportFails: if the imported file cannot be applied to the end, LNet is as it was before: not configured,
// without networks, peers and rules, and with the same settings. The error has the errno of its cause and names the line.
func TestConfigureImportFails(t *testing.T) {
	port := freePort(t)
	for name, test := range map[string]struct {
		file string
		ctx  func(context.Context) context.Context
		want syscall.Errno
		text string
	}{
		"route":       {strings.ReplaceAll(aFile, "127.0.0.9@tcp", "127.0.0.9@tcp9"), nil, syscall.EHOSTUNREACH, "lnet.conf: line 11: No interface configured on the same net as gateway"},
		"interface":   {strings.ReplaceAll(aFile, "nid: 127.0.0.82@tcp1", "interfaces: {0: no-such-if}"), nil, syscall.ENETDOWN, "lnet.conf: line 9: No interface matching 'no-such-if'"},
		"interrupted": {aFile, ended, syscall.EINTR, "lnet.conf: line 4: interrupted: 0 of "},
	} {
		t.Run(name, func(t *testing.T) {
			from := loaded(t, port+"networks: tcp(127.0.0.83)\n")
			n := startImporting(t, from, nil)
			takeDown(t, n)
			bad := importing(t, port+"networks: tcp(127.0.0.83)\n", test.file)
			if _, err := n.Reload(t.Context(), from, bad); err != nil {
				t.Fatal(err)
			}
			ctx, before := t.Context(), state(t, n)
			if test.ctx != nil {
				ctx = test.ctx(ctx)
			}
			_, err := n.Configure(ctx, upAll)
			if errno, _ := errors.AsType[syscall.Errno](err); errno != test.want || !strings.Contains(err.Error(), test.text) || !strings.Contains(cli.HintOf(err), "lnetctl reload") {
				t.Errorf("errno %d, error %v, hint %q; want errno %d and %q", errno, err, cli.HintOf(err), test.want, test.text)
			}
			if after := state(t, n); !n.Status().Unconfigured || after != before {
				t.Errorf("after the failure\n%s\nbefore\n%s", after, before)
			}
			if _, err := n.Reload(t.Context(), bad, importing(t, port+"networks: tcp(127.0.0.83)\n", aFile)); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Configure(t.Context(), upAll); err != nil || len(n.NIDs()) != 3 {
				t.Errorf("NIDs %v after the file was mended: %v", n.NIDs(), err)
			}
		})
	}
}

// ended returns a context that has ended.
func ended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// TestConfigureWarnsOfImport: what the imported file has and the node has already, by another file, is a warning in the log.
func TestConfigureWarnsOfImport(t *testing.T) {
	log := new(lockedLog)
	own := freePort(t) + "networks: tcp(127.0.0.81)\nroutes: o2ib 127.0.0.9@tcp\n"
	n := startImporting(t, importing(t, own, aFile), slog.New(slog.NewTextHandler(log, nil)))
	takeDown(t, n)
	if _, err := n.Configure(t.Context(), upAll); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Count(text, "is there already") != 1 || !strings.Contains(text, "file=lnet.conf") || len(n.RoutesNow()) != 1 {
		t.Errorf("routes %v, log\n%s", n.RoutesNow(), text)
	}
}

// TestReloadImportWithoutLNet: while LNet is not configured on the node, a reload takes other networks of the imported
// file. They start when LNet is configured again.
func TestReloadImportWithoutLNet(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	from := loaded(t, port+"networks: tcp(127.0.0.81)\n")
	to := importing(t, port+"networks: tcp(127.0.0.81)\n", "net:\n  - net type: tcp1\n    local NI(s):\n      - nid: 127.0.0.82@tcp1\n")
	n := startLoaded(t, from)
	for _, step := range []struct {
		from, to *config.Loaded
		want     []nid.NID
	}{
		{from, to, []nid.NID{nid.MustParse("127.0.0.81@tcp"), nid.MustParse("127.0.0.82@tcp1")}},
		{to, from, []nid.NID{nid.MustParse("127.0.0.81@tcp")}},
	} {
		takeDown(t, n)
		if _, err := n.Reload(t.Context(), step.from, step.to); err != nil || len(n.NIDs()) > 0 {
			t.Errorf("reload: %v, NIDs %v", err, n.NIDs())
		}
		if _, err := n.Configure(t.Context(), upAll); err != nil || !slices.Equal(n.NIDs(), step.want) {
			t.Errorf("NIDs %v, %v, want %v", n.NIDs(), err, step.want)
		}
	}
}

// TestConfigureAfterReload: LNet that is configured again gets the imported file that the last reload has read.
func TestConfigureAfterReload(t *testing.T) {
	port := freePort(t)
	from := importing(t, port+"networks: lo\n", aFile)
	to := importing(t, port+"networks: lo\n", strings.ReplaceAll(aFile, "127.0.0.82@tcp1", "127.0.0.83@tcp1"))
	n := startImporting(t, from, nil)
	if err := n.Import(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Reload(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	before := state(t, n)
	takeDown(t, n)
	if _, err := n.Configure(t.Context(), upAll); err != nil {
		t.Fatal(err)
	}
	if after := state(t, n); after != before || !strings.Contains(after, "127.0.0.83@tcp1") {
		t.Errorf("configured again\n%s\nbefore\n%s", after, before)
	}
}
