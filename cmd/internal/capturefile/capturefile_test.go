package capturefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ulnet/cmd/internal/capturefile"
)

const capture = "\x0a\x0d\x0d\x0a and more"

func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mode(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// TestKeepsOldCaptures: each new capture renames the older ones, and the oldest is removed.
func TestKeepsOldCaptures(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lnet.pcapng")
	for _, text := range []string{"a", "b", "c", "d"} {
		f, err := capturefile.Create(name, 2)
		if err != nil {
			t.Fatal(err)
		}
		if !capturefile.Rotates(f) || mode(t, name) != 0o600 {
			t.Errorf("mode %v", mode(t, name))
		}
		if _, err := f.WriteString(capture + text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for suffix, text := range map[string]string{"": "d", ".1": "c", ".2": "b"} {
		if got := read(t, name+suffix); got != capture+text {
			t.Errorf("%s%s: %q, want the capture %q", name, suffix, got, text)
		}
	}
	if _, err := os.Lstat(name + ".3"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("more than two old captures are kept: %v", err)
	}
}

// TestFailedStarts: captures of starts that fail leave the older captures as they are, and the next start removes them.
// A start that succeeds renames the older ones.
func TestFailedStarts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lnet.pcapng")
	start := func(text string, want map[string]string) {
		t.Helper()
		f, err := capturefile.Begin(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(capture + text); err != nil {
			t.Error(err)
		}
		if want[""] == text {
			if err := capturefile.Settle(name, 1, f); err != nil {
				t.Error(err)
			}
		}
		f.Close()
		for _, suffix := range []string{"", ".0", ".1", ".2"} {
			b, err := os.ReadFile(name + suffix)
			if has := want[suffix]; has == "" && !errors.Is(err, fs.ErrNotExist) || has != "" && string(b) != capture+has {
				t.Errorf("%s: FILE%s is %q, %v, want %q", text, suffix, b, err, has)
			}
		}
	}
	start("failed first", map[string]string{".0": "failed first"})
	start("good", map[string]string{"": "good"})
	start("better", map[string]string{"": "better", ".1": "good"})
	for _, text := range []string{"failed", "failed again"} {
		start(text, map[string]string{"": "better", ".0": text, ".1": "good"})
	}
	start("best", map[string]string{"": "best", ".1": "better"})
	if mode(t, name) != 0o600 {
		t.Errorf("mode %v", mode(t, name))
	}
}

// TestBegunTwice: two programs begin the same capture. The one whose file is gone cannot rename the other's, nor older ones.
func TestBegunTwice(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lnet.pcapng")
	write(t, name, capture+"older", 0o600)
	begin := func() *os.File {
		f, err := capturefile.Begin(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := begin(), begin()
	if err := capturefile.Settle(name, 1, first); !errors.Is(err, fs.ErrNotExist) || read(t, name) != capture+"older" {
		t.Errorf("error %v, the capture is %q", err, read(t, name))
	}
	if err := capturefile.Settle(name, 1, second); err != nil || read(t, name+".1") != capture+"older" {
		t.Errorf("error %v, the older capture is %q", err, read(t, name+".1"))
	}
}

// TestBeginLeavesOthersAlone: a file beside the captures that has the name of a failed start's, and is none, stays.
func TestBeginLeavesOthersAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lnet.pcapng")
	write(t, name+".0", "root:x:0:0", 0o644)
	if _, err := capturefile.Begin(name, 1); !errors.Is(err, capturefile.ErrForeign) || read(t, name+".0") != "root:x:0:0" {
		t.Errorf("error %v, want ErrForeign; the file is %q", err, read(t, name+".0"))
	}
}

// TestUndo: the capture that is being written gets its name back. If it had no name any more, because
// its file was removed by hand, the new file is removed. A file that another program has put at the name stays.
func TestUndo(t *testing.T) {
	for _, test := range []struct {
		name            string
		before, between func(name string) error // called with the name of the capture before and after the second Create; nil: nothing is called
		want            map[string]string       // wanted contents of the files, by what their names have after the name of the capture; "": there is no such file
	}{
		{"renamed", nil, nil, map[string]string{"": "live", ".1": "", ".2": "older"}},
		{"removed by hand", os.Remove, nil, map[string]string{"": "", ".1": "older"}},
		{"replaced", nil, func(name string) error {
			return errors.Join(os.Remove(name), os.WriteFile(name, []byte(capture+"other"), 0o600))
		}, map[string]string{"": "other", ".1": "live", ".2": "older"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "lnet.pcapng")
			write(t, name+".1", capture+"older", 0o600)
			create := func() *os.File {
				f, err := capturefile.Create(name, 2)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			live := create()
			defer live.Close()
			if _, err := live.WriteString(capture + "live"); err != nil {
				t.Fatal(err)
			}
			var next *os.File
			for _, do := range []func(string) error{test.before, func(string) error { next = create(); return nil }, test.between} {
				if do == nil {
					continue
				}
				if err := do(name); err != nil {
					t.Fatal(err)
				}
			}
			if err := capturefile.Undo(name, next, live); err != nil {
				t.Error(err)
			}
			for suffix, text := range test.want {
				if b, err := os.ReadFile(name + suffix); text == "" && !errors.Is(err, fs.ErrNotExist) || text != "" && string(b) != capture+text {
					t.Errorf("%s%s: %q, %v, want %q", name, suffix, b, err, text)
				}
			}
		})
	}
}

// creators are the functions that return a new capture.
var creators = []func(name string, keep int) (*os.File, error){capturefile.Create, capturefile.Begin}

// TestLeavesOthersAlone: Create and Begin refuse a name at which there is a link, or a file that is no capture, and
// that file keeps its content and its mode.
func TestLeavesOthersAlone(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, name string) (victim string)
		want    error
	}{
		{"a text", func(t *testing.T, name string) string {
			write(t, name, "root:x:0:0", 0o644)
			return name
		}, capturefile.ErrForeign},
		{"short text", func(t *testing.T, name string) string {
			write(t, name, "\x0a\x0d", 0o644)
			return name
		}, capturefile.ErrForeign},
		{"a link to a text", func(t *testing.T, name string) string {
			write(t, name+".victim", "root:x:0:0", 0o644)
			if err := os.Symlink(name+".victim", name); err != nil {
				t.Fatal(err)
			}
			return name + ".victim"
		}, capturefile.ErrLink},
		{"a link to a capture", func(t *testing.T, name string) string {
			write(t, name+".victim", capture, 0o644)
			if err := os.Symlink(name+".victim", name); err != nil {
				t.Fatal(err)
			}
			return name + ".victim"
		}, capturefile.ErrLink},
		{"a link to nothing", func(t *testing.T, name string) string {
			if err := os.Symlink(name+".victim", name); err != nil {
				t.Fatal(err)
			}
			return ""
		}, fs.ErrNotExist},
		{"a text as the older capture", func(t *testing.T, name string) string {
			write(t, name, capture, 0o600)
			write(t, name+".1", "root:x:0:0", 0o644)
			return name + ".1"
		}, capturefile.ErrForeign},
		{"a directory", func(t *testing.T, name string) string {
			if err := os.Mkdir(name, 0o755); err != nil {
				t.Fatal(err)
			}
			return ""
		}, syscall.EISDIR},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "lnet.pcapng")
			victim := test.prepare(t, name)
			var before string
			if victim != "" {
				before = read(t, victim)
			}
			for i, create := range creators {
				if f, err := create(name, 1); !errors.Is(err, test.want) {
					f.Close()
					t.Errorf("function %d: error %v, want %v", i, err, test.want)
				}
			}
			if victim == "" {
				return
			}
			if got := read(t, victim); got != before || mode(t, victim) != 0o644 {
				t.Errorf("%s is %q with mode %v now", victim, got, mode(t, victim))
			}
		})
	}
}

// TestOtherOwner: a capture that belongs to another user is not renamed.
func TestOtherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	name := filepath.Join(t.TempDir(), "lnet.pcapng")
	write(t, name, capture, 0o600)
	if err := os.Chown(name, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	for i, create := range creators {
		if _, err := create(name, 1); !errors.Is(err, capturefile.ErrForeign) {
			t.Errorf("function %d: error %v, want ErrForeign", i, err)
		}
	}
}

// TestSpecialFiles: FIFOs and devices are written to without being renamed, also through links.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, link, null := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "null")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o644), os.Symlink(fifo, link), os.Symlink(os.DevNull, null)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // on Linux O_RDWR does not wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, name := range []string{fifo, link, null, os.DevNull} {
		for i, create := range creators {
			f, err := create(name, 1)
			if err != nil {
				t.Errorf("%s, function %d: %v", name, i, err)
				continue
			}
			if err := capturefile.Settle(name, 1, f); err != nil || capturefile.Rotates(f) {
				t.Errorf("%s, function %d: would be rotated, or %v", name, i, err)
			}
			f.Close()
		}
	}
	if got := mode(t, fifo); got != fs.ModeNamedPipe|0o644 {
		t.Errorf("mode of the FIFO: %v", got)
	}
}
