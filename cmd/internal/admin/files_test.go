package admin

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// names returns the names of the files in a folder.
func names(t *testing.T, path string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestFilesLeft: a daemon removes the files of a daemon that was killed, and nothing else. It
// does not remove the files of a daemon that runs.
func TestFilesLeft(t *testing.T) {
	path := t.TempDir()
	killed := openFolder(path, slog.New(slog.DiscardHandler))
	if _, err := killed.file([][]byte{[]byte("bulk "), []byte("data")}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, filePrefix+"folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	New(Config{Dir: path}).Close()
	if got := names(t, path); len(got) != 4 {
		t.Errorf("beside a daemon that lives: %v", got)
	}
	killed.close() // releases the lock of the folder, as the system does when it kills the process that holds the lock
	New(Config{Dir: path}).Close()
	if got := names(t, path); !slices.Equal(got, []string{"other", filePrefix + "folder", lockName}) {
		t.Errorf("%v is left", got)
	}
}

// TestFolderOfState: a service begins in a folder that the daemon has locked for its state.
func TestFolderOfState(t *testing.T) {
	path := t.TempDir()
	state, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	if err := unix.Flock(int(state.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	begun := make(chan *Service, 1)
	go func() { begun <- New(Config{Dir: path}) }()
	select {
	case s := <-begun:
		s.Close()
	case <-time.After(60 * time.Second):
		t.Fatal("the service waits for the lock of its own daemon")
	}
}

// TestFilePath: an action finds its file although it runs in another folder than the daemon. No
// other user can read the file, and it is removed afterwards.
func TestFilePath(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("run", 0o700); err != nil {
		t.Fatal(err)
	}
	s := New(Config{Dir: "run", Output: 100})
	defer s.Close()
	s.cfg.Actions = map[string]Action{"show": {Run: []string{"/bin/sh", "-c", `stat -c %a "$SCOLL_FILE"; cat "$SCOLL_FILE"`}, Timeout: time.Minute}}
	q := Request{Version: Version, Verb: Run, Name: "show", Answer: MaxAnswer}
	a := (&task{s: s, ctx: context.Background(), request: q, root: nidOf(0), bulk: [][]byte{[]byte("bulk "), []byte("data")}, mayAct: true}).run()
	r, err := ParseRan(a.Data)
	if want := "600\nbulk data"; err != nil || string(r.Output) != want || r.Exit != 0 {
		t.Errorf("%v, %+v %q, want %q", err, r, r.Output, want)
	}
	if got := names(t, "run"); !slices.Equal(got, []string{lockName}) {
		t.Errorf("%v is left", got)
	}
}
