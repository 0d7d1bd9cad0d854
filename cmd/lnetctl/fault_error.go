package main

import (
	"errors"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/lnet/faultrule"
)

// badRule returns the error for an impossible rule, in the words of the kernel's tool.
func (f *faultFlags) badRule(k faultrule.Kind, err error) error {
	text, usage := err.Error(), cli.Usagef("%w", err)
	switch {
	case strings.HasPrefix(text, "--message"):
		return textError(exitNegative, usage, "unknown message type %s", strings.Join(f.Types, ","))
	case strings.HasPrefix(text, "--portal"):
		return textError(exitNegative, usage, "invalid portal: %s", strings.Join(f.Portals, ","))
	case strings.HasPrefix(text, "--health_error"):
		return textError(exitNegative, usage, "unknown health error %s", strings.Join(f.Errors, ","))
	case strings.HasPrefix(text, "--source"):
		return textError(exitInvalid, usage, "Invalid NID: %s", f.Source)
	case strings.HasPrefix(text, "--dest"):
		return textError(exitInvalid, usage, "Invalid NID: %s", f.Dest)
	case strings.HasPrefix(text, "--local_nid"):
		return textError(exitInvalid, usage, "Invalid NID: %s", f.Local)
	case f.Source == "" || f.Dest == "":
		return textError(exitNegative, usage, "Please provide both source and destination of %v rule", k)
	case (f.Rate == 0) == (f.interval.value == 0):
		return textError(exitNegative, usage, "please provide either %v rate or interval but not both at the same time.", k)
	case k == faultrule.Delay && f.latency.value == 0:
		return textError(exitNegative, usage, "latency cannot be zero")
	}
	return textError(exitInvalid, usage, "failed to add %v rule: Invalid input data or parameter", k).onStdout()
}

// ruleRefused returns the error for a rule that the node has refused.
func ruleRefused(k faultrule.Kind, verb string, err error) error {
	if err == nil || !control.FromNode(err) {
		return err
	}
	why := cli.Strerror(errnoOf(err))
	if errors.Is(err, syscall.ENOENT) {
		why = "Object not found"
	}
	return textError(256-int(errnoOf(err)), err, "failed to %s %v rule: %s", verb, k, why).onStdout()
}
