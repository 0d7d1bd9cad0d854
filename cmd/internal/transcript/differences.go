package transcript

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Differences are the differences from the kernel's tool that are intended or accepted, each
// with a reason. An entry of the file is a line
//
//	TOPICS ASPECTS COMMAND
//
// where TOPICS is a list such as 03,04, ASPECTS a list such as exit,stdout,stderr, and
// COMMAND a regular expression of whole commands. An aspect with a question mark, such as exit?,
// differs only in some runs. Entries are indented below the text of their reason.
type Differences struct {
	mu   sync.Mutex
	list []*difference // the accepted differences; guarded by mu
}

type difference struct {
	line    int
	topics  []string
	aspects []string
	command *regexp.Regexp
	unused  map[string]bool // topics and aspects of the entry that have not occurred yet
}

// ReadDifferences reads a file of differences.
func ReadDifferences(path string) (*Differences, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, reason := &Differences{}, false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			reason = false
		case !strings.HasPrefix(line, "\t"):
			reason = true
		case !reason:
			return nil, fmt.Errorf("%s: line %d: a difference without a reason", path, i+1)
		default:
			one, err := parseDifference(i+1, line)
			if err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", path, i+1, err)
			}
			d.list = append(d.list, one)
		}
	}
	return d, nil
}

func parseDifference(number int, line string) (*difference, error) {
	fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
	if len(fields) < 3 {
		return nil, fmt.Errorf("want TOPICS ASPECTS COMMAND")
	}
	command, err := regexp.Compile("^(?s:" + fields[2] + ")$")
	if err != nil {
		return nil, err
	}
	one := &difference{
		line: number, topics: strings.Split(fields[0], ","), command: command,
		unused: map[string]bool{},
	}
	for _, text := range strings.Split(fields[1], ",") {
		aspect, chance := strings.CutSuffix(text, "?")
		one.aspects = append(one.aspects, aspect)
		for _, topic := range one.topics {
			if !chance {
				one.unused[topic+" "+aspect] = true
			}
		}
	}
	return one, nil
}

// Allowed reports whether an aspect of a command may differ, and records that it does.
func (d *Differences) Allowed(topic, aspect, command string) (yes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.list {
		if slices.Contains(one.topics, topic) && slices.Contains(one.aspects, aspect) && one.command.MatchString(command) {
			delete(one.unused, topic+" "+aspect)
			yes = true
		}
	}
	return yes
}

// NotNeeded returns the differences listed for a topic, such as a command of the transcript, that have not
// occurred. Each text has the line of the list, the topic, and the aspect that was to differ, such as output.
func (d *Differences) NotNeeded(topic string) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.list {
		for of := range one.unused {
			if strings.HasPrefix(of, topic+" ") {
				list = append(list, fmt.Sprintf("line %d: %s %v", one.line, of, one.command))
			}
		}
	}
	slices.Sort(list)
	return list
}
