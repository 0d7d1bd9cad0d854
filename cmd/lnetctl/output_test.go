package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// TestOutputKeepsFileWithoutData: the file of --out keeps its content if the operation fails before any
// data arrive. The content is lost when the first data arrive, or when the operation succeeds without data.
func TestOutputKeepsFileWithoutData(t *testing.T) {
	failed := errors.New("no REPLY")
	for name, test := range map[string]struct {
		payload string
		err     error
		want    string
	}{
		"nothing came": {"", failed, "old content"},
		"data":         {"new", nil, "new"},
		"a part":       {"ne", failed, "ne"},
		"empty":        {"", nil, ""},
	} {
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, []byte("old content"), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := createOutput(&cobra.Command{}, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.write(node.Step{Payload: []byte(test.payload)}, false); err != nil {
			t.Error(err)
		}
		if err := o.closeAfter(test.err); !errors.Is(err, test.err) {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != test.want {
			t.Errorf("%s: the file has %q, %v", name, text, err)
		}
	}
}

// TestOutputWithoutRoom: if data cannot be written, the hint is about the file, not about the daemon.
func TestOutputWithoutRoom(t *testing.T) {
	o, err := createOutput(&cobra.Command{}, "/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	err = o.write(node.Step{Payload: []byte("x")}, false)
	if err == nil || !strings.Contains(cli.HintOf(err), "--out") {
		t.Errorf("error %v, hint %q", err, cli.HintOf(err))
	}
	if err := o.closeAfter(nil); err != nil {
		t.Error(err)
	}
}
