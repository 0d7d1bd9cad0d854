package web

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
)

func TestParseAddress(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Address{
		"":               {},
		"9420":           {"tcp", "127.0.0.1:9420"},
		":9420":          {"tcp", "127.0.0.1:9420"},
		"localhost:1":    {"tcp", "127.0.0.1:1"},
		"0.0.0.0:65535":  {"tcp", "0.0.0.0:65535"},
		"[::1]:9420":     {"tcp", "[::1]:9420"},
		"/run/m.sock":    {"unix", "/run/m.sock"},
		"unix:m.sock":    {"unix", filepath.Join(dir, "m.sock")},
		"unix:/a/m.sock": {"unix", "/a/m.sock"},
	} {
		a, err := ParseAddress(text)
		if err != nil || a != want {
			t.Errorf("%q: %+v, %v; want %+v", text, a, err, want)
		}
		if local := !strings.HasPrefix(text, "0."); text != "" && a.Local() != local {
			t.Errorf("%q: local %v", text, a.Local())
		}
	}
	for _, text := range []string{"x", "65536", "-1", "+80", "080", "example.org:80", "1.2.3.4", "::1:80:", "unix:", "host:", "tcp:80", "127.0.0.1:http", "[::1", " 80"} {
		if a, err := ParseAddress(text); err == nil {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

// TestListenErrors: an address that cannot be listened on has an error that names the setting,
// and a hint that names the flag.
func TestListenErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for text, hint := range map[string]string{
		taken.Addr().String():                 "another program has the port",
		"192.0.2.1:9420":                      "'ip address' lists them",
		"unix:/no/such/folder/m.sock":         "choose another socket with --metrics",
		"unix:/" + strings.Repeat("long", 40): "choose a shorter one with --metrics",
	} {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Listen("metrics", "--metrics", nil)
		if err == nil || !strings.Contains(err.Error(), "metrics") || !strings.Contains(cli.HintOf(err), hint) {
			t.Errorf("%s: %v, hint %q", text, err, cli.HintOf(err))
		}
	}
}
