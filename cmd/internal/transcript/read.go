// Package transcript plays recorded sessions of Lustre's tools against daemons, in tests of our
// tools: it reads transcripts and the lists of accepted differences, and runs daemons on hosts.
package transcript

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// An Entry is a command of a transcript with the output of the kernel's tool, or a command of
// preparation.
type Entry struct {
	Line    int    // line of the transcript
	Host    string // name of the host, A to D
	Command string // command line, for a shell
	Prepare bool   // the shell ran the command to prepare what follows, and its output is not recorded
	Stdout  string // what the command wrote to standard output
	Stderr  string // what the command wrote to standard error
	Code    int    // exit code, from 0 to 255
}

var (
	commandLine = regexp.MustCompile(`^([A-D])\$ (.*)$`)
	prepareLine = regexp.MustCompile(`^\[on ([A-D]), exit [0-9]+\] (.*)$`)
	exitLine    = regexp.MustCompile(`^\[exit ([0-9]+)(, [0-9]+ s)?\]$`)
)

// Read reads the entries of a transcript. Text between commands is a comment.
func Read(path string) (list []Entry, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := transcriptReader{rest: text}
	for len(r.rest) > 0 {
		line := r.next()
		if m := prepareLine.FindStringSubmatch(line); m != nil {
			list = append(list, Entry{Line: r.line, Host: m[1], Command: m[2], Prepare: true})
		}
		m := commandLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		e := Entry{Line: r.line, Host: m[1], Command: m[2]}
		if strings.Contains(e.Command, "<<'Y'") {
			e.Command += "\n" + r.here()
		}
		if err := r.outputs(&e); err != nil {
			return nil, fmt.Errorf("%s: line %d: %s: %w", path, r.line, e.Command, err)
		}
		list = append(list, e)
	}
	return list, nil
}

type transcriptReader struct {
	rest []byte
	line int
}

func (r *transcriptReader) next() string {
	line, rest, _ := bytes.Cut(r.rest, []byte("\n"))
	r.rest = rest
	r.line++
	return string(line)
}

// here reads a here-document up to its last line, Y.
func (r *transcriptReader) here() string {
	var lines []string
	for len(r.rest) > 0 {
		lines = append(lines, r.next())
		if lines[len(lines)-1] == "Y" {
			break
		}
	}
	return strings.Join(lines, "\n")
}

// outputs reads standard output and standard error, whose lengths in bytes are in their markers,
// and the exit code.
func (r *transcriptReader) outputs(e *Entry) error {
	for _, out := range []struct {
		name string
		to   *string
	}{{"stdout", &e.Stdout}, {"stderr", &e.Stderr}} {
		var size int
		if _, err := fmt.Sscanf(r.next(), "["+out.name+" %d]", &size); err != nil {
			return err
		}
		if size > len(r.rest) {
			return fmt.Errorf("%s has no %d bytes", out.name, size)
		}
		text := string(r.rest[:size])
		*out.to, r.rest = text, r.rest[size:]
		r.line += strings.Count(text, "\n")
		if size > 0 && !strings.HasSuffix(text, "\n") {
			r.next()
		}
	}
	m := exitLine.FindStringSubmatch(r.next())
	if m == nil {
		return fmt.Errorf("no exit code")
	}
	var err error
	e.Code, err = strconv.Atoi(m[1])
	return err
}
