package shell

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"ulnet/cmd/internal/cli"
)

// maxHistory bounds the lines that are kept.
const maxHistory = 500

// history has the lines of a session, the oldest first. It implements term.History, in which
// index 0 is the latest line.
type history struct{ lines []string }

// Add appends a line that differs from the one before.
func (h *history) Add(line string) {
	if line = strings.TrimSpace(line); line == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	if h.lines = append(h.lines, line); len(h.lines) > maxHistory {
		h.lines = h.lines[1:]
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

func (h *history) print(w io.Writer) {
	for i, line := range h.lines {
		fmt.Fprintf(w, "%5d  %s\n", i+1, line)
	}
}

// converse reads commands from a terminal. The terminal is in its normal mode while a command
// runs.
func (s *Shell) converse(in, out *os.File) int {
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, s.Prompt)
	t.History = &s.history
	if s.Complete != nil {
		t.AutoCompleteCallback = func(line string, position int, key rune) (string, int, bool) {
			return s.complete(t, line, position, key)
		}
	}
	for {
		line, err := readLine(t, in, out)
		if err == io.EOF { // the user pressed ctrl-D or ctrl-C
			fmt.Fprintln(out)
			return cli.OK
		}
		if err != nil {
			fmt.Fprintln(s.Env.Stderr, err)
			return cli.Failed
		}
		if _, done := s.line(line); done {
			return cli.OK
		}
	}
}

// readLine reads a line with the terminal in the mode in which the line can be edited.
func readLine(t *term.Terminal, in, out *os.File) (string, error) {
	var before *term.State
	err := onTerminal(in, func(fd int) (err error) {
		before, err = term.MakeRaw(fd)
		return err
	})
	if err != nil {
		return "", err
	}
	if columns, rows := cli.Size(out); columns > 0 {
		_ = t.SetSize(columns, rows) // fails only if the prompt cannot be drawn, in which case ReadLine fails, too
	}
	line, err := t.ReadLine()
	if err == term.ErrPasteIndicator {
		err = nil
	}
	if restoreErr := onTerminal(in, func(fd int) error { return term.Restore(fd, before) }); err == nil {
		err = restoreErr
	}
	return line, err
}

// onTerminal calls do with the descriptor of a terminal. It does not change whether reads of the
// file block.
func onTerminal(f *os.File, do func(fd int) error) (err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if controlErr := conn.Control(func(fd uintptr) { err = do(int(fd)) }); controlErr != nil {
		return controlErr
	}
	return err
}

// complete completes the word before the cursor when the tabulator key is pressed, up to the
// longest beginning that all possible words have in common. If that adds nothing, it lists the
// possible words.
func (s *Shell) complete(t io.Writer, line string, position int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	before, after := line[:position], line[position:]
	words, err := Words(before)
	if err != nil {
		return "", 0, false
	}
	if before == "" || strings.HasSuffix(before, " ") {
		words = append(words, "")
	}
	last := words[len(words)-1]
	if !strings.HasSuffix(before, last) { // the word is in quotation marks
		return "", 0, false
	}
	possible := s.Complete(words)
	completed := common(possible)
	if len(possible) == 1 {
		completed += " "
	}
	if len(completed) > len(last) && strings.HasPrefix(completed, last) {
		before = strings.TrimSuffix(before, last) + completed
		return before + after, len(before), true
	}
	if len(possible) > 1 {
		fmt.Fprintln(t, strings.Join(possible, "  "))
	}
	return "", 0, false
}

// common returns the longest common beginning of words.
func common(words []string) string {
	if len(words) == 0 {
		return ""
	}
	prefix := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}
