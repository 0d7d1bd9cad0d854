package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/cmd/internal/cli"
)

// patience bounds the wait for events that take no time on an idle machine.
const patience = 60 * time.Second

// screen is the other side of a terminal: it types, and records what the terminal shows.
type screen struct {
	master *os.File

	mu    sync.Mutex
	shown bytes.Buffer  // what the terminal has shown; guarded by mu
	more  chan struct{} // has a token after something was shown
}

// openTerminal makes a pseudo terminal and returns both sides.
func openTerminal(t *testing.T) (s *screen, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	if err := onTerminal(master, func(fd int) (err error) {
		if number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil {
			return err
		}
		return errors.Join(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	}); err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	s = &screen{master: master, more: make(chan struct{}, 1)}
	var reader sync.WaitGroup
	reader.Go(s.read)
	t.Cleanup(func() {
		_ = master.Close()
		reader.Wait()
		_ = slave.Close()
	})
	return s, slave
}

func (s *screen) read() {
	b := make([]byte, 1024)
	for {
		n, err := s.master.Read(b)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.shown.Write(b[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
}

// await waits until text is shown, and returns the output up to its end.
func (s *screen) await(t *testing.T, text string) string {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		if i := bytes.Index(s.shown.Bytes(), []byte(text)); i >= 0 {
			before := string(s.shown.Next(i + len(text)))
			s.mu.Unlock()
			return before
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-deadline:
			t.Fatalf("the terminal never shows %q, but %q", text, s.shown.String())
		}
	}
}

func (s *screen) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.master, text); err != nil {
		t.Fatal(err)
	}
}

// TestConversation: on a terminal there are a prompt, editing, history and completion. A failed
// command does not end the session, and commands run in the terminal's ordinary mode.
func TestConversation(t *testing.T) {
	screen, slave := openTerminal(t)
	ran := make(chan string, 20)
	s := &Shell{
		Env: cli.Env{Stdin: slave, Stdout: slave, Stderr: slave}, Prompt: "tool > ", Usage: "usage: tool\n",
		Has: func(word string) bool { return word == "net" || word == "fail" },
		Run: func(args []string) int {
			ran <- strings.Join(args, " ")
			fmt.Fprintln(slave, "done")
			return map[string]int{"fail": 1}[args[0]]
		},
		Complete: func(words []string) (list []string) {
			for _, w := range []string{"net", "nets-of-all", "show"} {
				if strings.HasPrefix(w, words[len(words)-1]) && (w == "show") == (len(words) > 1) {
					list = append(list, w)
				}
			}
			return list
		},
	}
	ended := make(chan int, 1)
	go func() { ended <- s.Loop() }()
	ask := func(line string, answers ...string) {
		t.Helper()
		screen.await(t, "tool > ")
		screen.send(t, line)
		for _, a := range answers {
			screen.await(t, a)
		}
	}
	ask("net show\r", "done\r\n") // the ordinary mode writes \n as \r\n
	ask("fail\r", "done\r\n")
	ask("nosuch\r", "usage: tool\r\n")
	ask("\x1b[A\x1b[A\r", "done\r\n")   // pressing up twice gives the line before the previous one
	ask("nex\x7ft sh\tx\r", "done\r\n") // uses backspace to edit, and tab to complete
	ask("n\t\t", "net  nets-of-all")
	ask(" show\r", "done\r\n") // the shell has printed the prompt again, with the beginning of the line
	ask("history\r", "1  net show", "4  fail", "5  net show x")
	ask("\x04") // the user presses ctrl-D
	if code := <-ended; code != cli.OK {
		t.Errorf("exit code %d", code)
	}
	close(ran)
	want := []string{"net show", "fail", "fail", "net show x", "net show"}
	if got := slices.Collect(func(yield func(string) bool) {
		for line := range ran {
			if !yield(line) {
				return
			}
		}
	}); !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

// TestInterruptedPrompt: ctrl-C at the prompt ends the session, as in Lustre's tools.
func TestInterruptedPrompt(t *testing.T) {
	screen, slave := openTerminal(t)
	s := &Shell{Env: cli.Env{Stdin: slave, Stdout: slave, Stderr: slave}, Prompt: "tool > "}
	ended := make(chan int, 1)
	go func() { ended <- s.Loop() }()
	screen.await(t, "tool > ")
	screen.send(t, "net sh\x03")
	select {
	case code := <-ended:
		if code != cli.OK {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(patience):
		t.Fatal("ctrl-C does not end it")
	}
}
