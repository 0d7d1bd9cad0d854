package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
)

// failureDoc describes a node that did not answer, in the words of the kernel's tool.
type failureDoc struct {
	Errno int    `json:"errno"` // error number, negative
	Descr string `json:"descr"`
	Cause string `json:"cause,omitempty"` // ulnet's addition: more about the cause
}

// failures collects the nodes that did not answer a command.
type failures struct {
	verb  string // name of the verb: ping or discover
	count int
	hints []string // hints of all failures, each of them once
}

// add records that a target did not answer, and why.
func (f *failures) add(target nid.NID, err error) failureDoc {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		errno = syscall.EIO
	}
	f.count++
	if hint := cli.HintOf(err); hint != "" && !slices.Contains(f.hints, hint) {
		f.hints = append(f.hints, hint)
	}
	why := strings.TrimPrefix(err.Error(), fmt.Sprintf("%s %v: ", f.verb, target))
	doc := failureDoc{Errno: -int(errno), Descr: fmt.Sprintf("failed to %s %v: %s", f.verb, target, cli.Strerror(errno))}
	if why != errno.Error() {
		doc.Cause = why
	}
	return doc
}

// err returns the error of a command that has asked the given number of nodes, or nil if all
// have answered.
func (f *failures) err(asked int, what string) error {
	if f.count == 0 {
		return nil
	}
	err := cli.Hint(fmt.Errorf("%d of %d nodes %s", f.count, asked, what), "%s", strings.Join(f.hints, "\n"))
	return &kernelError{exit: exitNegative, cause: err}
}
