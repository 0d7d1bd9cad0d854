package main

import (
	"fmt"
	"io"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/dissection"
	"ulnet/lnd/capture/analyze"
	"ulnet/lnet/wire"
)

// operationNames are the kinds of operations in words.
var operationNames = map[analyze.Kind]string{
	analyze.PutAck: "PUT→ACK", analyze.GetReply: "GET→REPLY", analyze.RequestReply: "request",
}

// writeReport writes a report as text.
func writeReport(w io.Writer, r *analyze.Report) {
	fmt.Fprintf(w, "%v from %s, %d messages with %d bytes\n", short(r.Duration), r.Start.UTC().Format(dissection.ShortTime), r.Messages, r.Bytes)
	writeKinds(w, r.Kinds)
	writePairs(w, r.Pairs)
	writeLinks(w, r.Links)
	writeSides(w, r.Links)
	writeOperations(w, "The slowest", r.Slowest)
	writeOperations(w, "Without an answer", r.Unanswered)
	writeMissing(w, r)
}

// countTitles are the columns of counts.
var countTitles = []any{"ASKED", "ANSWERED", "UNANSWERED", "FAILED", "RESENT", "COPIES", "MIN", "P50", "P90", "P99", "P99.9", "MAX"}

func countCells(c analyze.Counts) []any {
	cells := []any{c.Asked, c.Answered, c.Unanswered, c.Failed, c.Resent, c.Copies}
	if c.Answered == 0 {
		return append(cells, "-", "-", "-", "-", "-", "-")
	}
	return append(cells, latencyCells(c.Latency)...)
}

func latencyCells(l analyze.Latency) (cells []any) {
	for _, d := range []time.Duration{l.Min, l.P50, l.P90, l.P99, l.P999, l.Max} {
		cells = append(cells, short(d))
	}
	return cells
}

func writeKinds(w io.Writer, rows []analyze.KindRow) {
	var t cli.Table
	t.Row(append([]any{"\nOPERATION", "PORTAL"}, countTitles...)...)
	for _, row := range rows {
		portal := any(row.Portal)
		if row.Other {
			portal = "others"
		}
		t.Row(append([]any{operationName(row.Kind, row.Service, row.Portal), portal}, countCells(row.Counts)...)...)
	}
	writeTable(w, &t, len(rows))
}

// operationName returns a name for operations of one kind. Requests have the name of their service
// in it; for pings and pushes it says that they are pings or pushes.
func operationName(k analyze.Kind, service string, portal uint32) string {
	switch {
	case k == analyze.RequestReply:
		return service + " request"
	case portal == wire.PingPortal && k == analyze.GetReply:
		return "GET→REPLY (ping)"
	case portal == wire.PingPortal:
		return "PUT→ACK (push)"
	}
	return operationNames[k]
}

func writePairs(w io.Writer, rows []analyze.PairRow) {
	var t cli.Table
	t.Row(append([]any{"\nFROM", "TO"}, countTitles...)...)
	for _, row := range rows {
		from, to := row.From.String(), row.To.String()
		if row.Other {
			from, to = "others", "others"
		}
		t.Row(append([]any{from, to}, countCells(row.Counts)...)...)
	}
	writeTable(w, &t, len(rows))
}

func writeLinks(w io.Writer, links []analyze.Link) {
	var t cli.Table
	t.Row("\nBETWEEN", "AND", "CONNECTIONS", "OPEN", "ENDED", "RESET", "RECONNECTS", "REFUSED", "FAILED", "LONGEST SILENCE", "KEEPALIVE GAPS")
	for _, l := range links {
		t.Row(append([]any{l.Ends[0], l.Ends[1]}, linkCells(l.LinkCounts, l.Silence)...)...)
	}
	writeTable(w, &t, len(links))
}

func linkCells(c analyze.LinkCounts, s analyze.Silence) []any {
	return []any{c.Connections, c.Open, c.Ended, c.Reset, c.Reconnects, c.Refused, c.Failed, short(s.Longest), s.Gaps}
}

// writeSides writes what each end of a link did, if it has done something worth looking at.
func writeSides(w io.Writer, links []analyze.Link) {
	var t cli.Table
	rows := 0
	t.Row("\nNODE", "TOWARDS", "RESTARTS", "NO CREDIT", "FOR", "COOKIES", "SLOWEST", "ALL CREDITS USED", "FOR", "TCP REPEATED", "LATE", "WINDOW CLOSED", "FOR")
	for _, l := range links {
		for i, s := range l.Sides {
			if isQuiet(s) {
				continue
			}
			rows++
			t.Row(append([]any{l.Ends[i], l.Ends[1-i]}, sideCells(s)...)...)
		}
	}
	writeTable(w, &t, rows)
}

// isQuiet reports whether an end of a link has done nothing that writeSides would show.
func isQuiet(s analyze.SideCounts) bool {
	return s.Restarts+s.NoCredit.Count+s.ZeroCopy.Requests+s.TCP.Repeated+s.TCP.Late+s.TCP.ZeroWindows == 0
}

func sideCells(s analyze.SideCounts) []any {
	cells := append([]any{s.Restarts}, stallCells(s.NoCredit)...)
	cells = append(cells, zeroCopyCells(s.ZeroCopy)...)
	return append(cells, tcpCells(s.TCP)...)
}

func stallCells(s analyze.Stalls) []any { return []any{s.Count, short(s.Total)} }

func zeroCopyCells(z analyze.ZeroCopy) []any {
	return append([]any{fmt.Sprintf("%d of %d", z.Acked, z.Requests), short(z.Slowest)}, stallCells(z.Full)...)
}

func tcpCells(t analyze.TCP) []any {
	return []any{t.Repeated, t.Late, t.ZeroWindows, short(t.ZeroWindow)}
}

func writeTable(w io.Writer, t *cli.Table, rows int) {
	if rows > 0 {
		_ = t.Print(w) // cannot fail: w is a buffer
	}
}

func writeOperations(w io.Writer, title string, list []analyze.Operation) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	var t cli.Table
	for i := range list {
		o := &list[i]
		frames := fmt.Sprintf("frame %d", o.Frame)
		if o.AnswerFrame > 0 {
			frames = fmt.Sprintf("frames %d and %d", o.Frame, o.AnswerFrame)
		}
		if o.Resent > 0 {
			frames += fmt.Sprintf(", sent again %d times", o.Resent)
		}
		t.Row("  "+short(o.Latency).String(), operationName(o.Kind, o.Service, o.Portal), fmt.Sprintf("%v → %v", o.From, o.To),
			fmt.Sprintf("portal %d", o.Portal), fmt.Sprintf("bits %v", o.MatchBits), fmt.Sprintf("%d bytes", o.Length), o.Time.UTC().Format(dissection.ShortTime), frames)
	}
	_ = t.Print(w)
}

// writeMissing writes what the report lacks, and why.
func writeMissing(w io.Writer, r *analyze.Report) {
	before := "\n"
	say := func(n uint64, what string) {
		if n > 0 {
			fmt.Fprintf(w, "%s%d %s\n", before, n, what)
			before = ""
		}
	}
	sayUnmatched(say, r.Unmatched)
	say(forwarded(r), "messages seen on another side of a router, too")
	say(r.LostBytes, "bytes are not in the capture")
	say(r.LostPackets, "packets of RDMA are not in the capture")
	say(r.Unknown, "runs of bytes not understood")
	sayForgotten(say, r.Forgotten)
}

func sayUnmatched(say func(uint64, string), u analyze.Unmatched) {
	say(u.Acks+u.Replies+u.ServiceReplies, "answers to messages that are not in the capture, or were forgotten")
}

func sayForgotten(say func(uint64, string), f analyze.Forgotten) {
	say(f.Operations, "operations forgotten, because too many had no answer: they count as unanswered")
	say(f.Connections, "connections not followed, because too many were open")
	say(f.Cookies, "zero-copy cookies not followed, because too many were under way")
}

func forwarded(r *analyze.Report) (n uint64) {
	for _, k := range r.Kinds {
		n += k.Forwarded
	}
	return n
}

// short rounds a duration to three or four digits.
func short(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}
