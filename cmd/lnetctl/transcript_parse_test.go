package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// An entry is a command of a transcript with the output of the kernel's tool, or a command of
// preparation.
type entry struct {
	line    int
	host    string // name of the host, A to D
	command string
	prepare bool // the shell ran the command to prepare what follows, and its output is not recorded
	stdout  string
	stderr  string
	code    int
}

var (
	commandLine = regexp.MustCompile(`^([A-D])\$ (.*)$`)
	prepareLine = regexp.MustCompile(`^\[on ([A-D]), exit [0-9]+\] (.*)$`)
	exitLine    = regexp.MustCompile(`^\[exit ([0-9]+)(, [0-9]+ s)?\]$`)
)

// readTranscript reads the entries of a topic. Text between commands is a comment.
func readTranscript(topic string) (list []entry, err error) {
	text, err := os.ReadFile(filepath.Join("testdata", "transcripts", topic+".txt"))
	if err != nil {
		return nil, err
	}
	r := transcriptReader{rest: text}
	for len(r.rest) > 0 {
		line := r.next()
		if m := prepareLine.FindStringSubmatch(line); m != nil {
			list = append(list, entry{line: r.line, host: m[1], command: m[2], prepare: true})
		}
		m := commandLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		e := entry{line: r.line, host: m[1], command: m[2]}
		if strings.Contains(e.command, "<<'Y'") {
			e.command += "\n" + r.here()
		}
		if err := r.outputs(&e); err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", r.line, e.command, err)
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
func (r *transcriptReader) outputs(e *entry) error {
	for _, out := range []struct {
		name string
		to   *string
	}{{"stdout", &e.stdout}, {"stderr", &e.stderr}} {
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
	e.code, err = strconv.Atoi(m[1])
	return err
}
