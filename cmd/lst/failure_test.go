package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/lnd/lndtest/spec"
)

// TestRefusal: errors of the console have the texts of Lustre's tool. On a terminal the reason and
// the hint follow.
func TestRefusal(t *testing.T) {
	spec.Covers(t, "ST-43")
	for errno, want := range map[syscall.Errno]string{
		syscall.ESRCH:      "No session exists",
		syscall.ESHUTDOWN:  "Session is shutting down",
		syscall.EACCES:     "Unmatched session key or not root",
		syscall.ENOENT:     "Can't find group in current session",
		syscall.EINVAL:     "Invalid parameters list in command line",
		syscall.EEXIST:     "group already exists",
		syscall.EBUSY:      "Failed to delete group: Device or resource busy",
		syscall.EOPNOTSUPP: "Failed to delete group: Operation not supported",
		syscall.ENETDOWN:   "Failed to delete group: Network is down",
	} {
		err := refusal(cli.Hint(&control.Error{Message: "why", Errno: errno}, "what to do"), "group", "Failed to delete group")
		f, ok := errors.AsType[*failure](err)
		if !ok || f.ExitCode() != localFail || f.lines(false) != want+"\n" || f.lines(true) != want+"\n  why; what to do\n" {
			t.Errorf("%v: %+v", errno, err)
		}
		if !errors.Is(err, errno) {
			t.Errorf("%v is lost", errno)
		}
		plain, ok := errors.AsType[*failure](plainRefusal(&control.Error{Message: "why", Errno: errno}, "Failed"))
		if !ok || plain.text != "Failed: "+cli.Strerror(errno) {
			t.Errorf("%v: %+v", errno, plain)
		}
	}
	for _, err := range []error{nil, &control.Error{Message: "full", Errno: syscall.ENOSPC}, &control.Error{Message: "refused"}, syscall.ENOENT} {
		if got := refusal(err, "group", "Failed"); got != err {
			t.Errorf("%v became %v", err, got)
		}
		if got := plainRefusal(err, "Failed"); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// TestDialect: each error has an exit code of Lustre's tool, and mistakes show the usage.
func TestDialect(t *testing.T) {
	spec.Covers(t, "ST-43")
	c := &cobra.Command{Use: "ping", Annotations: usageText("ping ...")}
	own := &cobra.Command{Use: "own"}
	for _, test := range []struct {
		name           string
		cmd            *cobra.Command
		err            error
		usage          bool
		stdout, stderr string
		code           int
	}{
		{"missing", c, errMissing, true, "Usage: lst ping ...\n", "", badUsage},
		{"mistake", c, errors.New("unknown flag: --x"), true, "Usage: lst ping ...\n", "lst: unknown flag: --x\n", badUsage},
		{"mistake of an own command", own, errors.New("unknown flag: --x"), true, "", "lst: unknown flag: --x\n  see 'lst help own'\n", badUsage},
		{"no daemon", c, cli.Hint(errors.New("no socket"), "start it"), false, "", "lst: no socket\n  start it\n", localFail},
		{"a text of Lustre's tool", c, failf("Invalid size %s", "0"), false, "", "Invalid size 0\n", localFail},
		{"after a complaint", c, after(noObject, failf("bad")), false, "", noObject + "bad\n", localFail},
		{"only an exit code", c, silent(rpcError), false, "", "", rpcError},
	} {
		t.Run(test.name, func(t *testing.T) {
			shown, ok := errors.AsType[cli.Shown](dialect(test.cmd, test.err, test.usage))
			if !ok {
				t.Fatal("the error does not show itself")
			}
			var out, errs strings.Builder
			shown.Show(&out, &errs)
			if out.String() != test.stdout || errs.String() != test.stderr || shown.ExitCode() != test.code {
				t.Errorf("%q, %q, %d", out.String(), errs.String(), shown.ExitCode())
			}
		})
	}
	if silent(cli.OK) != nil {
		t.Error("success is an error")
	}
}

// TestKeyOf: a number is the key itself, cut to its lowest 32 bits. Every other text stands for a
// key of its own, which is not 0.
func TestKeyOf(t *testing.T) {
	spec.Covers(t, "ST-44")
	for text, want := range map[string]uint32{"100": 100, " 7 ": 7, "0": 0, "-1": 1<<32 - 1, "4294967297": 1} {
		if got := keyOf(text, 0); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	none, other, abc, abd := keyOf("", 1000), keyOf(" ", 1001), keyOf("abc", 1000), keyOf("abd", 1000)
	if none == 0 || abc == 0 || abc == none || abc == abd || abc != keyOf("abc", 1001) || none == other || none != keyOf("", 1000) {
		t.Error(none, other, abc, abd)
	}
}

// TestKeyNote: if a session is begun without LST_SESSION, the command says so on a terminal, and nowhere else.
func TestKeyNote(t *testing.T) {
	spec.Covers(t, "ST-44")
	if note := keyNote("", true); !strings.Contains(note, "export LST_SESSION=$$") {
		t.Errorf("%q", note)
	}
	if note := keyNote("100", true) + keyNote("", false); note != "" {
		t.Errorf("%q", note)
	}
}

// TestFeaturesOf: features are hexadecimal, and only known ones are taken.
func TestFeaturesOf(t *testing.T) {
	spec.Covers(t, "ST-44")
	for text, want := range map[string]string{
		"": "", "1": "", "0": "", "0x1": "", "2": "Unsupported session features 2, only support these features so far: 1",
		"x": "Invalid LST_FEATURES x: use a hexadecimal number, such as 1",
	} {
		got := ""
		if _, err := featuresOf(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if f, err := featuresOf("0"); f != 0 || err != nil {
		t.Error(f, err)
	}
}
