package control_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
)

func TestListen(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		err     string // part of the expected error; empty: no error
		hint    string
	}{
		{name: "nothing there", prepare: func(*testing.T, string) {}},
		{name: "socket of a dead daemon", prepare: func(t *testing.T, path string) {
			l := listenUnix(t, path)
			l.SetUnlinkOnClose(false)
			l.Close()
		}},
		{
			name: "living daemon", prepare: func(t *testing.T, path string) {
				s, err := Listen(path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
			},
			err: "another daemon answers there", hint: "stop it, or choose another socket with --socket",
		},
		{
			name: "living stranger", prepare: func(t *testing.T, path string) {
				l := listenUnix(t, path)
				t.Cleanup(func() { l.Close() })
			},
			err: "another daemon answers there", hint: "stop it, or choose another socket with --socket",
		},
		{
			name: "file", prepare: func(t *testing.T, path string) {
				if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			err: "there is a file that is not a socket", hint: "choose another socket with --socket",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			test.prepare(t, path)
			s, err := Listen(path)
			if test.err != "" {
				if err == nil || err.Error() != "control socket "+path+": "+test.err || cli.HintOf(err) != test.hint {
					t.Errorf("error %v, hint %q", err, cli.HintOf(err))
				}
				if _, err := os.Lstat(path); err != nil {
					t.Errorf("what was there is gone: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o660 {
				t.Errorf("mode %v, error %v, want 0660", info.Mode(), err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket stays behind: %v", err)
			}
		})
	}
}

func listenUnix(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestListenRefuses(t *testing.T) {
	if _, err := Listen("/" + strings.Repeat("x", 200)); err == nil || !strings.Contains(err.Error(), "longer than 107 bytes") {
		t.Errorf("long path: %v", err)
	}
	if _, err := Listen(filepath.Join(t.TempDir(), "no", "s")); !errors.Is(err, os.ErrNotExist) || cli.HintOf(err) == "" {
		t.Errorf("no directory: %v", err)
	}
}
