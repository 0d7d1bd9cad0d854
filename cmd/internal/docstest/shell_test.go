//go:build linux

package docstest

import (
	"fmt"
	"regexp"
	"strings"
)

// comments are the comments after a command in a document that say on which hosts it runs. A
// command without such a comment runs on the first host of the stage.
var comments = []struct{ comment, script string }{
	{"# on one", "begin %s"}, // runs on the first host in the background, while the script goes on
	{"# on the other", "on other %s"},
	{"# on both", "begin %s"}, // runs on the first host only, because on the other host the stage has started the daemon already
	{"# on all of them", `for host in $HOSTS; do on "$host" %s; done`},
	{"# on each member", `for host in here other supervisor; do on "$host" begin %s; done`},
	{"# at a supervisor", "on supervisor %s"},
}

// endless matches commands of this repository that run until they are interrupted. The script
// interrupts them after a while.
const endless = `*" watch "* | *" recv "*`

// prelude defines the functions for the shell of a stage. A command that the document starts
// with "&", or on another host, runs in the background. Like a reader who watches the output, the shell goes on
// when the command has written its first line, or when the daemon has its control socket.
const prelude = `set -u
trap 'echo "$BLOCK|$?|$BASH_COMMAND" >> "$FAILED"' ERR
set -E
host() { export RUNTIME_DIRECTORY=$WORK/$1/run STATE_DIRECTORY=$WORK/$1/state; cd "$WORK/$1"; }
on() { ( host "$1"; shift; "$@" ) }
rest() { kill $(jobs -p) 2> /dev/null || true; wait; } # a job may have ended
# A shell without a terminal may keep an earlier job that has ended as %1, which kill then says nothing about.
kill() { if [ "${1-}" = %1 ]; then set -- "$!"; fi; builtin kill "$@"; }
begin() {
	local log; log=$(mktemp)
	"$@" > "$log" 2>&1 &
	for _ in {1..500}; do [ -s "$log" ] && break; sleep 0.02; done
	cat "$log"
}
`

// wrapper is the script that takes the place of a command of this repository in the PATH of the
// shell and in bin.
const wrapper = `#!/bin/bash
case " $* " in
*" --standalone "* | *" tree "* | *" --help "*) ;;
*) for _ in {1..500}; do [ -S "$RUNTIME_DIRECTORY/lnetd.sock" ] && break; sleep 0.02; done ;;
esac
case " $* " in
` + endless + `) timeout --signal INT "${PATIENCE:-1}" %[1]s "$@"; code=$?; [ $code = 124 ] && exit 0; exit $code ;;
esac
exec %[1]s "$@"
`

// sweeps matches the options for many runs of a simulation; a test makes the first run only.
var sweeps = regexp.MustCompile(`(--vary [a-z]+=)([^,\s]+)(,\S+)?|--runs \d+ `)

// placed translates a line of a document so that the shell of a stage runs it on the right host.
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

// script returns the script for a block, and the output that the document shows.
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
	if strings.HasPrefix(b.text, "#!/bin/sh\n") { // the block is the program of an event handler
		return "sh -eu -c '" + strings.ReplaceAll(b.text, "'", `'\''`) + "' < batch.json", "server 10.0.0.3@tcp is dead"
	}
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
		if strings.HasPrefix(line, "lnetsim sweep docs/") {
			line = sweeps.ReplaceAllString(line, "$1$2 ")
		}
		lines = append(lines, placed(line))
	}
	return strings.Join(lines, "\n"), b.output
}

// differ matches the parts of a line that may differ from run to run: figures, times and names of nodes.
var differ = []*regexp.Regexp{
	regexp.MustCompile(`\b[0-9a-f]{32}\b`),
	regexp.MustCompile(`\b\d[-\w.=]*@(tcp|o2ib)\d*\b`),
	regexp.MustCompile(`\b\d[\d:.,]*( ?(µs|ms|s|B|KiB|MiB|%)\b( ago)?)?`),
	regexp.MustCompile(`(^|\s)-(\s|$)`),
}

// ranges matches the minimum and maximum of several runs.
var ranges = regexp.MustCompile(`\([^()]* to [^()]*\)`)

// unseen matches words of lines that no stage can cause, because gossip takes seconds to detect
// a server's death.
var unseen = regexp.MustCompile(` (orphaned|rehomed)  `)

// shape returns a line without the parts that may differ from run to run.
func shape(line string) string {
	line = ranges.ReplaceAllString(line, "")
	for _, r := range differ {
		line = r.ReplaceAllString(line, " # ")
	}
	return strings.Join(strings.Fields(line), " ")
}

// missing returns the first line of the document's output for which got has no line of the same
// shape.
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

// keyed matches a line of a YAML object.
var keyed = regexp.MustCompile(`(?m)^ +(?:- )?([a-z][a-z_ ]*):`)

// unshown returns a key of the YAML object got that the document does not show, or "".
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
