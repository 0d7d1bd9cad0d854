package scripttest

import (
	"fmt"
	"regexp"
	"strings"
)

// commandOf matches a line of a script up to its command. In a line of the command code or the command
// until, it matches up to the program that this command runs.
var commandOf = regexp.MustCompile(`^\s*(?:\[[^]]*\]\s*)*(?:!\s+)?(?:code\s+\S+\s+|until\s+(?:'[^']*'|[^'\s])+\s+)?(\S+)`)

// check refuses a script that sets the folder, the environment or standard input for a command of the tool.
// The tool's process, which runs during the whole script, does not get these settings.
func (tool Tool) check(path, script string) error {
	if tool.Name == "" {
		return nil
	}
	var above settings
	line := 0
	for text := range strings.Lines(script) {
		if line++; strings.HasPrefix(text, "-- ") { // the commands end here, and the files of the script begin
			break
		}
		command := commandOf.FindStringSubmatch(text)
		if command == nil {
			continue
		}
		if err := above.follow(tool.Name, command[1], text); err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
	return nil
}

// settings tells what the lines of a script so far have set for the programs that it executes.
type settings struct {
	env   bool
	stdin bool // the script has set standard input for its next exec
}

// follow notes what a line of the script sets. It returns an error if the line runs the tool after a line
// that has set the environment or standard input.
func (s *settings) follow(tool, command, text string) error {
	const why = "which runs in one process all the time"
	switch command {
	case "cd":
		return fmt.Errorf("cd has no effect on %s, %s: write paths instead", tool, why)
	case "env":
		s.env = s.env || strings.Contains(text, "=")
	case "stdin":
		s.stdin = true
	case "exec":
		s.stdin = false
	case tool:
		if s.env || s.stdin {
			return fmt.Errorf("the %s above has no effect on %s, %s: write exec %[2]s", s.name(), tool, why)
		}
	}
	return nil
}

func (s *settings) name() string {
	if s.env {
		return "env"
	}
	return "stdin"
}
