package statefiles_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/statefiles"
)

// state is the state that a Writer writes to files.
type state struct {
	mu    sync.Mutex
	files []statefiles.File // files to be shown; guarded by mu
	looks int               // how often the Writer has called source; guarded by mu
}

func (s *state) source() []statefiles.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.files
}

// set changes the state and returns how often the Writer has read it.
func (s *state) set(files ...statefiles.File) (looks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = files
	return s.looks
}

func file(name, head, body string) statefiles.File {
	return statefiles.File{Name: name, Head: []byte(head), Body: []byte(body)}
}

// content returns the files in a directory and its subdirectories, by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			for name, text := range content(t, filepath.Join(dir, e.Name())) {
				all[e.Name()+"/"+name] = text
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func wantContent(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, content(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// pass lets virtual time pass, in which the Writer does its work.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func modified(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestWriter(t *testing.T) {
	defer statefiles.FreeOfCharge()()
	synctest.Test(t, func(t *testing.T) {
		runtime := t.TempDir()
		dir := filepath.Join(runtime, "gossip")
		var s state
		w := statefiles.Start(statefiles.Config{Dir: dir, Names: []string{"clock", "ages"}, Source: s.source})
		synctest.Wait()
		wantContent(t, runtime, map[string]string{}) // if there are no files, there is no directory

		s.set(file("clock", "", "7\n"), file("ages", "# clock 7\n", "a 1\n"))
		pass(time.Second)
		wantContent(t, runtime, map[string]string{"gossip/clock": "7\n", "gossip/ages": "# clock 7\n" + "a 1\n"})
		clock, ages := modified(t, dir+"/clock"), modified(t, dir+"/ages")
		if ages.Size() != int64(len("# clock 7\na 1\n")) || !ages.Mode().IsRegular() || ages.Mode().Perm() != 0o640 {
			t.Errorf("ages: %d bytes, mode %v", ages.Size(), ages.Mode())
		}

		// Only changed files are written, each as a new file. A process that has the old file
		// open goes on reading the old content. A file of which only the head differs does not
		// count as changed.
		next := []statefiles.File{file("clock", "", "8\n"), file("ages", "# clock 8\n", "a 1\n")}
		looks := s.set(next...)
		pass(999 * time.Millisecond)
		if s.set(next...) != looks {
			t.Error("looked more often than once a second")
		}
		pass(time.Millisecond)
		wantContent(t, runtime, map[string]string{"gossip/clock": "8\n", "gossip/ages": "# clock 7\n" + "a 1\n"})
		if os.SameFile(clock, modified(t, dir+"/clock")) {
			t.Error("the clock was written in place")
		}
		if !os.SameFile(ages, modified(t, dir+"/ages")) {
			t.Error("ages were written without a change")
		}

		s.set(next[0])
		pass(time.Second)
		wantContent(t, runtime, map[string]string{"gossip/clock": "8\n"})
		w.Stop()
		wantContent(t, runtime, map[string]string{})
	})
}

// TestLeftOver: files that a killed daemon has left are removed at the start; other files stay.
func TestLeftOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runtime := t.TempDir()
		dir := filepath.Join(runtime, "gossip")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"gossip/clock", "gossip/ages", "gossip/notes", "gossip.tmp"} {
			if err := os.WriteFile(filepath.Join(runtime, name), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s := state{files: []statefiles.File{file("clock", "", "old")}}
		w := statefiles.Start(statefiles.Config{Dir: dir, Names: []string{"clock", "ages"}, Source: s.source})
		synctest.Wait()
		wantContent(t, runtime, map[string]string{"gossip/clock": "old", "gossip/notes": "old"})
		w.Stop()
		wantContent(t, runtime, map[string]string{"gossip/notes": "old"})
	})
}

// TestFailure: a failure is reported once, and so is its end.
func TestFailure(t *testing.T) {
	defer statefiles.FreeOfCharge()()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "gossip")
		if err := os.WriteFile(dir, []byte("in the way"), 0o644); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		s := state{files: []statefiles.File{file("clock", "", "7")}}
		w := statefiles.Start(statefiles.Config{
			Dir: dir, Source: s.source, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		defer w.Stop()
		pass(3 * time.Second)
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		got := fmt.Sprint(strings.Count(log.String(), "not up to date"), strings.Count(log.String(), "up to date again"))
		if got != "1 1" {
			t.Errorf("logged %s times, want once each:\n%s", got, &log)
		}
		wantContent(t, dir, map[string]string{"clock": "7"})
	})
}

// TestRemoved: a file that another program has removed or replaced is written again, although the state has not changed.
func TestRemoved(t *testing.T) {
	defer statefiles.FreeOfCharge()()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "gossip")
		s := state{files: []statefiles.File{file("clock", "", "7\n"), file("ages", "", "a 1\n")}}
		w := statefiles.Start(statefiles.Config{Dir: dir, Names: []string{"clock", "ages"}, Source: s.source})
		defer w.Stop()
		synctest.Wait()
		for _, spoil := range []func() error{
			func() error { return os.Remove(dir + "/clock") },
			func() error { return os.RemoveAll(dir) },
			func() error { return errors.Join(os.Remove(dir+"/clock"), os.Symlink("/nowhere", dir+"/clock")) },
		} {
			ages := modified(t, dir+"/ages")
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			_, err := os.Lstat(dir + "/ages")
			stays := err == nil
			pass(time.Second)
			wantContent(t, dir, map[string]string{"clock": "7\n", "ages": "a 1\n"})
			if stays && !os.SameFile(ages, modified(t, dir+"/ages")) {
				t.Error("ages were written without a change")
			}
		}
	})
}

// TestWaits: reading the state or writing to the disk takes time without using the CPU, as on a
// busy machine. The Writer reads the state as often as on an idle machine; only the use of CPU
// time makes it read the state less often.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		w := statefiles.Start(statefiles.Config{
			Dir: filepath.Join(t.TempDir(), "gossip"),
			Source: func() []statefiles.File {
				looks++
				<-time.After(500 * time.Millisecond)
				return nil
			},
		})
		pass(time.Minute)
		w.Stop()
		if looks < 40 { // one read in 1.5 s: half a second for the read, and a second until the next one
			t.Errorf("%d looks in a minute, want 40 at least", looks)
		}
	})
}
