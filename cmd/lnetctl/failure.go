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

// failureDoc is a node that could not be asked, in the words of the kernel's
// tool.
type failureDoc struct {
	Errno int    `json:"errno"` // negative
	Descr string `json:"descr"`
}

// failures are the nodes that a command with several could not ask.
type failures struct {
	verb  string // ping, discover
	count int
	hints []string // what to do about it, each once
}

// add notes that target could not be asked.
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
	return failureDoc{-int(errno), fmt.Sprintf("failed to %s %v: %s", f.verb, target, why)}
}

// err is the error of the command, which asked so many nodes; nil if all could
// be asked.
func (f *failures) err(asked int, what string) error {
	if f.count == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("%d of %d nodes %s", f.count, asked, what), "%s", strings.Join(f.hints, "\n  "))
}
