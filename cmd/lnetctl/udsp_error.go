package main

import (
	"fmt"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
)

// badUDSP returns the error for an impossible rule.
func badUDSP(err error) error {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "invalid priority"):
		words := strings.SplitN(text, ":", 2)
		return textError(exitInvalid, cli.Usagef("%w", err), "I%s", words[0][1:]).onStdout()
	case strings.HasPrefix(text, "failed to parse"):
		text, _, _ = strings.Cut(text, ":")
	}
	return plainError("add", "udsp", -int(syscall.EINVAL), fmt.Sprintf("%q", text), cli.Usagef("%w", err))
}

// udspRefused returns the error for a request that the node has refused. For add and del, the
// kernel's tool prints the verb add, and its errno for a rule that exists already is positive.
func udspRefused(err error, descr string) error {
	if failed := failingPlainly(err, "add", "udsp", descr); failed == err || errnoOf(err) != syscall.EALREADY {
		return failed
	}
	return plainError("add", "udsp", int(syscall.EALREADY), fmt.Sprintf("%q", descr+cli.Strerror(syscall.EALREADY)), err)
}
