//go:build linux

package docstest

import (
	"fmt"
	"regexp"
	"strings"
)

// comments behind a command that say on which hosts it runs. Without one of them it runs
// here, which is the first host of the stage.
var comments = []struct{ comment, script string }{
	{"# on one", "begin %s"}, // here, and goes on beside what follows
	{"# on the other", "on other %s"},
	{"# on both", "begin %s"}, // the other daemon of the stage runs from its beginning
	{"# on all of them", `for host in $HOSTS; do on "$host" %s; done`},
	{"# on each member", `for host in here other supervisor; do on "$host" begin %s; done`},
	{"# at a supervisor", "on supervisor %s"},
}

// endless are commands of ours that go on until an interrupt, which they get after a while.
const endless = `*" watch "* | *" recv "*`

// prelude is what the shell of a stage knows. A command that a document begins with "&" or
// on another host runs while its reader types the next one: the shell waits until the
// command has written its first line, or until the daemon has its control socket.
const prelude = `set -u
trap 'echo "$BLOCK|$?|$BASH_COMMAND" >> "$FAILED"' ERR
set -E
host() { export RUNTIME_DIRECTORY=$WORK/$1/run STATE_DIRECTORY=$WORK/$1/state; cd "$WORK/$1"; }
on() { ( host "$1"; shift; "$@" ) }
rest() { kill $(jobs -p) 2> /dev/null || true; wait; } # a job may have ended
begin() {
	local log; log=$(mktemp)
	"$@" > "$log" 2>&1 &
	for _ in {1..500}; do [ -s "$log" ] && break; sleep 0.02; done
	cat "$log"
}
`

// wrapper stands in for a command of ours in the shell's PATH and in bin.
const wrapper = `#!/bin/bash
case " $* " in
*" --standalone "* | *" tree "* | *" --help "* | *" sim "*) ;;
*) for _ in {1..500}; do [ -S "$RUNTIME_DIRECTORY/lnetd.sock" ] && break; sleep 0.02; done ;;
esac
case " $* " in
` + endless + `) timeout --signal INT "${PATIENCE:-0.5}" %[1]s "$@"; code=$?; [ $code = 124 ] && exit 0; exit $code ;;
esac
exec %[1]s "$@"
`

// sweeps are the values of a simulation's setting of which a test runs the first, once.
var sweeps = regexp.MustCompile(`(--vary [a-z]+=)([^,\s]+)(,\S+)?|--runs \d+ `)

// placed returns a line of a document for the shell of a stage.
func placed(line string) string {
	for _, p := range comments {
		command, _, ok := strings.Cut(line, p.comment)
		if !ok {
			continue
		}
		var parts []string
		for _, part := range strings.Split(strings.TrimSpace(command), " && ") {
			parts = append(parts, fmt.Sprintf(p.script, part))
		}
		return strings.Join(parts, "\n")
	}
	return line
}

// script returns what a shell runs for a block, and what the document shows of its output.
func script(b block) (text, want string) {
	if strings.HasPrefix(b.text, "$ ") {
		var commands, output []string
		for _, line := range strings.Split(strings.TrimRight(b.text, "\n"), "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands = append(commands, command)
			} else {
				output = append(output, line)
			}
		}
		return strings.Join(commands, "\n"), strings.Join(output, "\n")
	}
	if strings.HasPrefix(b.text, "#!/bin/sh\n") { // a handler of events
		return "sh -eu -c '" + strings.ReplaceAll(b.text, "'", `'\''`) + "' < batch.json", "server 10.0.0.3@tcp is dead"
	}
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
		if strings.HasPrefix(line, "lnetd sim sweep docs/") {
			line = sweeps.ReplaceAllString(line, "$1$2 ")
		}
		lines = append(lines, placed(line))
	}
	return strings.Join(lines, "\n"), b.output
}

// Figures, times and names of nodes differ from run to run; all other words may not.
var differ = []*regexp.Regexp{
	regexp.MustCompile(`\b[0-9a-f]{32}\b`),
	regexp.MustCompile(`\b\d[-\w.=]*@(tcp|o2ib)\d*\b`),
	regexp.MustCompile(`\b\d[\d:.,]*( ?(µs|ms|s|B|KiB|MiB|%)\b( ago)?)?`),
	regexp.MustCompile(`(^|\s)-(\s|$)`),
}

// ranges are the least and the most of several runs.
var ranges = regexp.MustCompile(`\([^()]* to [^()]*\)`)

// unseen are words of lines that no stage brings about: a server's death takes gossip seconds.
var unseen = regexp.MustCompile(` (orphaned|rehomed)  `)

// shape is a line without what may differ.
func shape(line string) string {
	line = ranges.ReplaceAllString(line, "")
	for _, r := range differ {
		line = r.ReplaceAllString(line, " # ")
	}
	return strings.Join(strings.Fields(line), " ")
}

// missing returns the first line of a document's output whose shape no line of got has.
func missing(want, got string) string {
	have := map[string]bool{"": true}
	for _, line := range strings.Split(got, "\n") {
		have[shape(line)] = true
	}
	for _, line := range strings.Split(want, "\n") {
		if !have[shape(line)] && !unseen.MatchString(line) {
			return line
		}
	}
	return ""
}

// keyed is a line of an object in YAML.
var keyed = regexp.MustCompile(`(?m)^ +(?:- )?([a-z][a-z_ ]*):`)

// unshown returns a key of an object that a document shows without it, or "".
func unshown(want, got string) string {
	shown := map[string]bool{}
	for _, m := range keyed.FindAllStringSubmatch(want, -1) {
		shown[m[1]] = true
	}
	if len(shown) < 2 {
		return ""
	}
	for _, m := range keyed.FindAllStringSubmatch(got, -1) {
		if !shown[m[1]] {
			return m[1]
		}
	}
	return ""
}
