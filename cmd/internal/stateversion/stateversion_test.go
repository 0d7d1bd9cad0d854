package stateversion

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/smallfile"
	"ulnet/lnd/lndtest/spec"
)

// content returns the names and contents of the files in a directory.
func content(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(e.Name() + "=" + string(text) + ";")
	}
	return all.String()
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPrepare: a directory of version 0, or one whose version file is cut, gets a version file. A
// directory of this version stays as it is. So does one of a newer version or with another text in the
// file, and Prepare refuses it.
func TestPrepare(t *testing.T) {
	spec.Covers(t, "OP-9")
	for name, test := range map[string]struct {
		version string // content of the version file; "-": there is none
		want    string // expected content of the directory, in the form of the function content; "": unchanged
		err     string
	}{
		"older":         {"-", "incarnation=12 bytes;version=ulnet state 1\n;", ""},
		"same":          {"ulnet state 1\n", "incarnation=12 bytes;version=ulnet state 1\n;", ""},
		"newer":         {"ulnet state 2\n", "", "has version 2, and this program knows those up to 1"},
		"much newer":    {"ulnet state 2147483647\n", "", "has version 2147483647"},
		"too large":     {"ulnet state 99999999999999999999\n", "", "has no version"},
		"negative":      {"ulnet state -1\n", "", "has no version"},
		"zero":          {"ulnet state 0\n", "", "has no version"},
		"cut":           {"ulnet state 2", "incarnation=12 bytes;version=ulnet state 1\n;", ""},
		"cut earlier":   {"ulnet ", "incarnation=12 bytes;version=ulnet state 1\n;", ""},
		"empty":         {"", "incarnation=12 bytes;version=ulnet state 1\n;", ""},
		"something":     {strings.Repeat("x", 1<<16), "", "has no version"},
		"another field": {"ulnet state 1 2\n", "", "has no version"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "incarnation", "12 bytes")
			if test.version != "-" {
				put(t, dir, File, test.version)
			}
			before := content(t, dir)
			err := Prepare(dir, slog.New(slog.DiscardHandler))
			if test.err == "" && err != nil || test.err != "" && (!errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if test.want == "" {
				test.want = before
			}
			if got := content(t, dir); got != test.want {
				t.Errorf("%.200q, want %.200q", got, test.want)
			}
		})
	}
	if err := Prepare(filepath.Join(t.TempDir(), "absent"), nil); err != nil {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

// TestMigrations: migrations run in their order, and each succeeds once. If one fails, the next start runs this
// migration again, and then those after it.
func TestMigrations(t *testing.T) {
	spec.Covers(t, "OP-9")
	dir := t.TempDir()
	put(t, dir, "incarnation", "")
	fail := errors.New("disk on fire")
	var ran []string
	step := func(name string, err *error) func(string) error {
		return func(string) error {
			ran = append(ran, name)
			return *err
		}
	}
	var good error
	bad := fail
	list := []func(string) error{step("a", &good), step("b", &bad), step("c", &good)}
	var log bytes.Buffer
	if err := prepare(dir, slog.New(slog.NewTextHandler(&log, nil)), list); !errors.Is(err, fail) || content(t, dir) != "incarnation=;version=ulnet state 1\n;" {
		t.Errorf("%v, %s", err, content(t, dir))
	}
	bad = nil
	for range 2 {
		if err := prepare(dir, slog.New(slog.NewTextHandler(&log, nil)), list); err != nil || content(t, dir) != "incarnation=;version=ulnet state 3\n;" {
			t.Errorf("%v, %s", err, content(t, dir))
		}
	}
	if got := strings.Join(ran, " "); got != "a b b c" {
		t.Errorf("migrations %s", got)
	}
	if n := strings.Count(log.String(), "brought to another version"); n != 3 {
		t.Errorf("%d lines: %s", n, &log)
	}
}

// TestPipe: a version file that is a pipe is refused at once. A pipe that has the name of the new file is replaced.
func TestPipe(t *testing.T) {
	spec.Covers(t, "OP-9")
	dir := t.TempDir()
	path := filepath.Join(dir, File)
	if err := errors.Join(syscall.Mkfifo(path, 0o600), syscall.Mkfifo(path+".new", 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, smallfile.ErrNotRegular) || !strings.Contains(err.Error(), path) {
		t.Errorf("a pipe: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(dir, slog.New(slog.DiscardHandler)); err != nil || content(t, dir) != "version=ulnet state 1\n;" {
		t.Errorf("%v, %s", err, content(t, dir))
	}
}

// TestNotKept: if the version cannot be stored, Prepare succeeds all the same, with a warning, and the
// directory stays as it is: without a version file, or with one that is cut.
func TestNotKept(t *testing.T) {
	spec.Covers(t, "OP-9")
	for name, cut := range map[string]bool{"no file": false, "cut": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if cut {
				put(t, dir, File, "ulnet ")
			}
			if err := os.MkdirAll(filepath.Join(dir, File+".new", "x"), 0o700); err != nil { // a folder with the name of the new file, which then cannot be made
				t.Fatal(err)
			}
			var log bytes.Buffer
			if err := Prepare(dir, slog.New(slog.NewTextHandler(&log, nil))); err != nil || !strings.Contains(log.String(), "is not kept") {
				t.Errorf("%v, log %s", err, &log)
			}
			if text, err := os.ReadFile(filepath.Join(dir, File)); cut != (err == nil) || cut && string(text) != "ulnet " {
				t.Errorf("the version file has %q, %v", text, err)
			}
		})
	}
}
