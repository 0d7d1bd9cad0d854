package main

import (
	"bytes"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
)

// wanted is how often a text must be in the output of the demonstration.
type wanted struct {
	count int
	what  string
}

// wants returns, for each act, the texts that the output must contain on a network. The NIDs in these texts
// are written as on TCP.
func wants(net string) map[string][]wanted {
	asked := 1 // number of times that the dump shows the PUT with bulk data
	if net == "o2ib" {
		asked = 2 // at the request, and again when its RDMA transfer is complete
	}
	return map[string][]wanted{
		"messages": {
			{6, "  answered  "},
			{1, "  acknowledged, content equal  "},
			{1, "  replied, content equal  "},
			{1, "  dropped, drop_count 0 -> 1  "},
			{1, " of 64 PUTs of 1 MiB"},
			{0, "overtook 0 of"},
			{0, "  failed  "},
			{asked, "PUT of 1048576 bytes to portal 20, match bits 0x1, wants an ACK"},
			{1, "ACK of 1048576 bytes"},
			{1, "GET of up to 1048576 bytes from portal 21"},
			{1, "REPLY of 1048576 bytes"},
			{1, "PUT of 10 bytes to portal 22"},
			{1, " connections, 0 bytes lost, 0 bytes not understood\n"}, // "not understood" also counts packets with a bad ICRC, so there are none of them either
			{2, "PUT of 48 bytes to portal 0 (push 2: 127.0.0.1@tcp), wants an ACK"},
		},
		"selftest": {
			{1, "brw write of 64 KiB, 8 at a time, "},
			{1, "fastest  127.0.0."},
		},
		"gossip": {
			{1, " died        127.0.0.3@tcp (has died once)\n"},
			{2, "\n    clock "}, // once at the beginning of the output of watch, and once in that of status
			{1, "    127.0.0.1@tcp  0    alive   0  (this node)\n"},
		},
		"simulation": {
			{1, "\n1000 whole LNet nodes began "},
			{0, " kept back 0 of "},
			{1, "none was delivered twice, and in the end every credit was back.\nThat was 25s of virtual time in "},
		},
		"scoll": {
			{1, "\n    8 of 8 members answered in "},
			{1, "\n      received: 8 members: "},
			{1, "\n    4 of 8 members answered in "},
			{1, "\n      exit code 0: 4 members: 127.0.0.1@tcp 127.0.0.2@tcp 127.0.0.3@tcp 127.0.0.4@tcp\n"},
			{1, "\n    not reached:\n      127.0.0.5@tcp  timed out\n      127.0.0.6@tcp  below 127.0.0.5@tcp: timed out\n" +
				"      127.0.0.7@tcp  below 127.0.0.5@tcp: timed out\n      127.0.0.8@tcp  below 127.0.0.5@tcp: timed out\n"},
		},
		"health": {
			{2, "\n    CLIENT    127.0.0.1@tcp  127.0.0.2@tcp  127.0.0.3@tcp\n    client-a  "},
			{1, "\n    client-c (killed)  evicted        evicted        evicted\n"},
			{3, " \"client-c\": timed-out, master 127.0.0."},
			{1, " after the client's death, the last one "},
		},
		"zone": {
			{1, "left       n23=127.0.0.24@tcp "},
			{1, " (said, code 7)\n"},
			{1, "left       n24=127.0.0.25@tcp "},
			{1, " (dead)\n"},
			{1, "\n    1 zone, 22 members\n"},
		},
		"rmcast": {
			{1, "\n    1 message, 10 bytes, with all members of version "},
			{1, "\n    2000 messages of 2048 bytes to 8 members, by multicast, 32 at a time, in "},
			{0, " 0 repairs and "},
		},
	}
}

// TestUnknownAct: if --act names an act that does not exist, no act starts, and the error names all acts.
func TestUnknownAct(t *testing.T) {
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code := run(t.Context(), env, []string{"--act", "zone,opera"})
	if code != cli.Usage || out.Len() > 0 || !strings.Contains(errs.String(), `want some of messages, selftest, `) || !strings.Contains(errs.String(), `not "opera"`) {
		t.Errorf("exit %d, %q, %q", code, &out, &errs)
	}
}
