package smallfile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// oddities make something at a path that is not a regular file.
var oddities = map[string]func(t *testing.T, path string) error{
	"pipe":      func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) },
	"directory": func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) },
	"device":    func(_ *testing.T, path string) error { return os.Symlink("/dev/zero", path) },
	"socket": func(t *testing.T, path string) error {
		l, err := net.Listen("unix", path)
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	},
}

// TestNotRegular: Read refuses at once what is not a regular file, and Create replaces it.
func TestNotRegular(t *testing.T) {
	for name, make := range oddities {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := make(t, path); err != nil {
				t.Fatal(err)
			}
			if b, err := Read(path, 100); !errors.Is(err, ErrNotRegular) {
				t.Errorf("read %q, %v", b, err)
			}
			if err := Create(path, []byte("text")); err != nil {
				t.Fatal(err)
			}
			if b, err := Read(path, 3); err != nil || string(b) != "tex" {
				t.Errorf("read %q, %v", b, err)
			}
		})
	}
}
