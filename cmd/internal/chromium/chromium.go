// Package chromium drives a headless Chromium for tests of web pages, over a pipe with its DevTools
// protocol (https://chromedevtools.github.io/devtools-protocol): JSON messages that end with a NUL
// byte, on file descriptors 3 and 4 of the browser.
package chromium

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// flags make the browser headless and quiet: it resolves no name except the address of this host, and
// fetches only what a page asks for. It has no sandbox, because root cannot use one; that is no risk,
// since all pages come from the test.
var flags = []string{
	"--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
	"--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
	"--disable-default-apps", "--disable-extensions", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
	"--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
	"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--lang=en", "--font-render-hinting=none", "--mute-audio",
}

// stderrFile is the file, in the folder of the profile, with the browser's standard error. Errors of this
// package contain the last maxSaid bytes of it.
const (
	stderrFile = "stderr"
	maxSaid    = 4 << 10
)

// Find returns the path of the browser.
func Find() (string, error) { return exec.LookPath("chromium") }

// Browser is a running Chromium. All methods are safe for concurrent use.
type Browser struct {
	cmd     *exec.Cmd
	profile string // folder of the profile
	in      *os.File
	out     *os.File
	ends    chan struct{} // closed when the browser has closed its end of the pipe

	mu      sync.Mutex
	last    int                    // number of the last request; guarded by mu, like all below
	waiting map[int]chan<- message // requests without an answer
	tabs    map[string]*Tab        // tabs by session
}

// message is a message of the protocol in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`

	event json.RawMessage // Params of a message from the browser
}

// UnmarshalJSON keeps the parameters of an event as they are.
func (m *message) UnmarshalJSON(text []byte) error {
	type plain message
	raw := struct {
		*plain
		Params json.RawMessage `json:"params"`
	}{plain: (*plain)(m)}
	err := json.Unmarshal(text, &raw)
	m.event = raw.Params
	return err
}

// Start starts the browser, with a profile in a directory that belongs to the caller. Close ends it.
func Start(path, profile string) (*Browser, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	b := &Browser{profile: profile, in: in, out: out, ends: make(chan struct{}), waiting: map[int]chan<- message{}, tabs: map[string]*Tab{}}
	b.cmd = exec.Command(path, append([]string{"--user-data-dir=" + profile}, flags...)...)
	b.cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8", "HOME="+profile)
	if log, err := os.Create(filepath.Join(profile, stderrFile)); err == nil {
		defer log.Close()
		b.cmd.Stderr = log
	}
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = errors.Join(b.cmd.Start(), theirIn.Close(), theirOut.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go b.read()
	return b, nil
}

// Close kills the browser with all its processes, and waits for it.
func (b *Browser) Close() {
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL) // fails if all have ended
	_ = b.cmd.Wait()                                      // the error says that the browser was killed
	_ = b.in.Close()
	<-b.ends
	_ = b.out.Close()
}

// read distributes the messages of the browser until its end.
func (b *Browser) read() {
	defer close(b.ends)
	for r := bufio.NewReaderSize(b.out, 1<<16); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue // the browser sends only JSON; if it did not, the call that waits for the answer would fail by its timeout
		}
		b.mu.Lock()
		answer, tab := b.waiting[m.ID], b.tabs[m.Session]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m
		case m.ID == 0 && tab != nil:
			tab.note(m.Method, m.event)
		}
	}
}

// call sends a request to the browser, or to the tab of a session, and decodes the answer into
// result unless that is nil.
func (b *Browser) call(ctx context.Context, session, method string, params, result any) error {
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = answer
	text, err := json.Marshal(message{ID: id, Session: session, Method: method, Params: params})
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("chromium: %s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("chromium: %s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.ends:
		said, _ := os.ReadFile(filepath.Join(b.profile, stderrFile)) // if this fails, the error below lacks the browser's own messages
		return fmt.Errorf("chromium has ended before %s: %s", method, said[max(len(said)-maxSaid, 0):])
	case <-ctx.Done():
		return fmt.Errorf("chromium: %s: %w", method, context.Cause(ctx))
	}
}
