package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/lnet/nid"
)

// asked collects what nodes answer to ping or discover, and prints it with the keys of the kernel's tool.
type asked struct {
	globals *globals
	verb    string // ping or discover
	local   bool   // the node that asks is in this process
	nodes   []nodeDoc
	failed  []failureDoc
	hints   []string // hints of all failures, each of them once
}

// nodeDoc describes a node that has answered.
type nodeDoc struct {
	Primary   nid.NID     `json:"primary nid"`
	MultiRail bool        `json:"Multi-Rail"`
	NIs       []pingNIDoc `json:"peer_ni"`
	Claimed   []pingNIDoc `json:"claimed ni,omitempty"` // ulnet's addition: NIs that the peer claims without confirmation
}

type pingNIDoc struct {
	NID nid.NID `json:"nid"`
}

// failureDoc describes a node that did not answer, in the words of the kernel's tool.
type failureDoc struct {
	Errno int    `json:"errno"` // error number, negative
	Descr string `json:"descr"`
	Cause string `json:"cause,omitempty"` // ulnet's addition: more about the cause
}

// pingFailedDoc is a failureDoc with a key without a value for what failed, like that of the kernel's tool.
type pingFailedDoc struct {
	Ping *struct{} `json:"ping"`
	failureDoc
}

// discoverFailedDoc is pingFailedDoc for discover.
type discoverFailedDoc struct {
	Discover *struct{} `json:"discover"`
	failureDoc
}

// all asks nodes, one after the other, and prints their answers. If it ends early, it prints those that came
// before, if there are any. The error is a kernelError, which says what happened in the given words, if nodes
// did not answer.
func (a *asked) all(c *cobra.Command, targets []nid.ProcessID, ask func(nid.ProcessID) (nodeDoc, error), what string) error {
	for _, target := range targets {
		doc, err := ask(target)
		_, shown := errors.AsType[*kernelError](err)
		switch {
		case c.Context().Err() != nil:
			return cmp.Or(a.print(c), errInterrupted)
		case shown, err != nil && !a.local && !control.FromNode(err):
			return cmp.Or(a.print(c), err)
		case err != nil:
			a.fail(target.NID, err)
		default:
			a.nodes = append(a.nodes, doc)
		}
	}
	if err := a.print(c); err != nil || len(a.failed) == 0 {
		return err
	}
	err := cli.Hint(fmt.Errorf("%d of %d nodes %s", len(a.failed), len(targets), what), "%s", strings.Join(a.hints, "\n"))
	return &kernelError{exit: exitNegative, cause: err}
}

// fail records that a target did not answer, and why.
func (a *asked) fail(target nid.NID, err error) {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		errno = syscall.EIO
	}
	if hint := cli.HintOf(err); hint != "" && !slices.Contains(a.hints, hint) {
		a.hints = append(a.hints, hint)
	}
	why := strings.TrimPrefix(err.Error(), fmt.Sprintf("%s %v: ", a.verb, target))
	doc := failureDoc{Errno: -int(errno), Descr: fmt.Sprintf("failed to %s %v: %s", a.verb, target, cli.Strerror(errno))}
	if why != errno.Error() {
		doc.Cause = why
	}
	a.failed = append(a.failed, doc)
}

// print prints the answers that have come, and the failures. Without any it prints nothing.
func (a *asked) print(c *cobra.Command) error {
	if len(a.nodes)+len(a.failed) == 0 {
		return nil
	}
	var doc struct {
		Ping     []nodeDoc `json:"ping,omitempty"`
		Discover []nodeDoc `json:"discover,omitempty"`
		Manage   []any     `json:"manage,omitempty"`
	}
	for _, f := range a.failed {
		if a.verb == "ping" {
			doc.Manage = append(doc.Manage, pingFailedDoc{nil, f})
		} else {
			doc.Manage = append(doc.Manage, discoverFailedDoc{nil, f})
		}
	}
	if a.verb == "ping" {
		doc.Ping = a.nodes
	} else {
		doc.Discover = a.nodes
	}
	return a.globals.print(c, doc)
}
