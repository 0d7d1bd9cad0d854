// Package shell is the interactive mode of Lustre's tools, into which they enter if they are
// called without arguments. They then read commands from a terminal, with a prompt, editing and
// history, or line by line from a file or a pipe.
package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"ulnet/cmd/internal/cli"
)

// maxLine bounds a line in bytes.
const maxLine = 64 << 10

// unknownCommand is the exit code after a command that the tool does not have. It is -1 as in
// Lustre's tools, which the system turns into 255.
const unknownCommand = 255

// A Shell reads and runs commands.
type Shell struct {
	Env    cli.Env                 // input of the commands, and where their output goes
	Prompt string                  // prompt on a terminal, such as "lnetctl > "
	Has    func(word string) bool  // reports whether the tool has a command of this name
	Usage  string                  // text to print if a command does not exist
	Run    func(args []string) int // runs a command and returns its exit code
	// Complete returns the words that can replace the last one of words, which may be empty. Nil:
	// there is no completion.
	Complete func(words []string) []string

	history  history
	tolerant bool // the command ignore_errors was given
}

// Loop runs commands until quit, exit or the end of the input, and returns the exit code. On a
// terminal that is 0. Otherwise the first command that fails ends the loop with its exit code,
// unless the command ignore_errors was given before.
func (s *Shell) Loop() int {
	if in, out, ok := s.terminal(); ok {
		return s.converse(in, out)
	}
	lines := bufio.NewScanner(s.Env.Stdin)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if code, done := s.line(lines.Text()); done || code != cli.OK && !s.tolerant {
			return code
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a line of commands has more than %d bytes", maxLine)
		}
		fmt.Fprintln(s.Env.Stderr, err)
		return cli.Failed
	}
	return cli.OK
}

// terminal returns standard input and output if both are terminals.
func (s *Shell) terminal() (in, out *os.File, ok bool) {
	in, isFile := s.Env.Stdin.(*os.File)
	out, isToo := s.Env.Stdout.(*os.File)
	return in, out, isFile && isToo && cli.IsTerminal(in) && cli.IsTerminal(out)
}

// line runs a line. The result done is true after quit and exit.
func (s *Shell) line(text string) (code int, done bool) {
	words, err := Words(text)
	if err != nil {
		fmt.Fprintln(s.Env.Stderr, err)
		return cli.Usage, false
	}
	if len(words) == 0 {
		return cli.OK, false
	}
	switch word := words[0]; {
	case word == "quit" || word == "exit":
		return cli.OK, true
	case isIgnoreErrors(word):
		s.tolerant = true
		return cli.OK, false
	case word == "history":
		s.history.print(s.Env.Stdout)
		return cli.OK, false
	}
	if !s.Has(words[0]) {
		_, _ = io.WriteString(s.Env.Stdout, s.Usage)
		return unknownCommand, false
	}
	return s.Run(words), false
}

// isIgnoreErrors reports whether a word is the command after which failing commands do not end
// the loop.
func isIgnoreErrors(word string) bool { return word == "ignore_errors" || word == "--ignore_errors" }
