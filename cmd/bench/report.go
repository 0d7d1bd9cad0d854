package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"
)

const reportHead = `# Performance

What ` + "`make bench`" + ` measured, goal by goal. Values are ratios to a plain Go TCP program that moves the same payload between the same two
processes in the same run: medians of the ratios of interleaved rounds. The absolute figures in brackets depend on the machine and on what
else it did; ` + "`make bench GOAL=`" + `*id* measures one goal again and replaces its section.
`

// surroundings are the conditions under which a measurement was made.
type surroundings struct {
	at   time.Time
	load string
}

func newSurroundings() surroundings {
	s := surroundings{at: time.Now().UTC(), load: "unknown"}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		s.load = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	return s
}

func (s surroundings) String() string {
	return fmt.Sprintf("%s, %s on %s/%s, %d cores, %s, load average before %s",
		s.at.Format("2006-01-02 15:04 MST"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), kernel(), s.load)
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown kernel"
	}
	return "Linux " + strings.TrimSpace(string(b))
}

// section formats the results of one goal.
func section(g goal, lines []line, at surroundings, rounds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s. %v; %d rounds.\n\n", g.id, g.title, at, rounds)
	fmt.Fprintf(&b, "| what | value | goal | |\n|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.what, l.value(), l.bound(), l.outcome())
	}
	return b.String()
}

// writeResults replaces the goal's section in the file, or adds it.
func writeResults(file string, g goal, lines []line, at surroundings, rounds int) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, merge(old, g.id, section(g, lines, at, rounds)), 0o644)
}

// measured matches the names of the sections that this program writes.
var measured = regexp.MustCompile(`^(G-)?[A-Z]+-\w+$`)

// merge returns the report with one section replaced, or added in the order of the goals. It
// removes sections of goals that no longer exist. Sections with other names are written by hand,
// and follow those of the goals.
func merge(old []byte, id, text string) []byte {
	sections := map[string]string{}
	var written []string
	for i, part := range strings.Split("\n"+string(old), "\n## ") {
		name, _, _ := strings.Cut(part, "\n")
		section := "## " + strings.TrimRight(part, "\n") + "\n"
		sections[name] = section
		if i > 0 && !measured.MatchString(name) {
			written = append(written, section)
		}
	}
	sections[id] = text
	var b bytes.Buffer
	b.WriteString(reportHead)
	for _, g := range goals {
		if s, ok := sections[g.id]; ok {
			b.WriteString("\n" + s)
		}
	}
	for _, s := range written {
		b.WriteString("\n" + s)
	}
	return b.Bytes()
}
