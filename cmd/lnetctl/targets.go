package main

import (
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
)

// maxTargets bounds the nodes that one command asks.
const maxTargets = 4096

// parseTargets parses the nodes that ping and discover ask: NIDs, perhaps with PIDs. An argument
// may have several, separated by commas, and brackets enclose numbers and ranges, as in
// 10.0.0.[2-4]@tcp.
func parseTargets(verb string, args []string) (targets []nid.ProcessID, err error) {
	for _, arg := range args {
		for _, part := range splitOutside(arg) {
			texts, err := nid.ExpandText(part, maxTargets-len(targets))
			if err != nil {
				return nil, badTarget(verb, part, cli.Usagef("NIDs %q: %w", part, err))
			}
			for _, text := range texts {
				target, err := parseTarget(text)
				if err != nil {
					return nil, badTarget(verb, part, err)
				}
				targets = append(targets, target)
			}
		}
	}
	if len(targets) > maxTargets {
		return nil, badTarget(verb, "@", cli.Usagef("more than %d nodes in one command", maxTargets))
	}
	return targets, nil
}

// badTarget returns the error for a text that names no node, in the words of the kernel's tool.
func badTarget(verb, text string, cause error) error {
	why := "invalid NID in nidstr"
	if !strings.Contains(text, "@") {
		why = "no valid NIDs in string"
	}
	return netlinkError("manage", verb, -int(syscall.EINVAL), `"Unable to parse nidlist: `+why+`"`, cause)
}
