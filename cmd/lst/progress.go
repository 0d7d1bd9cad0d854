package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// totals are what the clients of a batch have done since its start.
type totals struct {
	RPCs       uint64 `json:"rpcs"`        // number of requests that the clients have sent
	BRWErrors  uint64 `json:"brw_errors"`  // number of brw RPCs that failed
	PingErrors uint64 `json:"ping_errors"` // number of ping RPCs that failed
}

// progress has what the clients have done since the first answer of each. Its zero value is ready for use.
type progress struct {
	last   map[nid.ProcessID]*wire.StatReply // latest counters of each client
	totals totals
}

// add takes the answers of the clients, and adds by how much the counters of each have grown since its previous answer. They wrap at
// 32 bits; a test can send more RPCs. The growth of a client that has begun another session in between is not known.
func (p *progress) add(answers []console.Answer) {
	if p.last == nil {
		p.last = map[nid.ProcessID]*wire.StatReply{}
	}
	for i := range answers {
		a := &answers[i]
		if a.Stat == nil {
			continue
		}
		before := p.last[a.ID]
		p.last[a.ID] = a.Stat
		if before == nil || a.Stat.Framework.Running < before.Framework.Running {
			continue
		}
		p.totals.RPCs += uint64(a.Stat.RPC.Sent - before.RPC.Sent)
		p.totals.BRWErrors += uint64(a.Stat.Framework.BRWErrors - before.Framework.BRWErrors)
		p.totals.PingErrors += uint64(a.Stat.Framework.PingErrors - before.Framework.PingErrors)
	}
}

// sum returns what all clients have done.
func (p *progress) sum() totals { return p.totals }

// progressBar shows on a terminal how many RPCs have been sent.
type progressBar struct {
	w     io.Writer // terminal; nil: nothing is shown
	total uint64    // RPCs that are expected
	shown bool
}

// barWidth is the length of the bar in characters.
const barWidth = 30

func (p *progressBar) show(done uint64, passed time.Duration) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r%s", p.line(done, passed))
}

// line is the text of the bar.
func (p *progressBar) line(done uint64, passed time.Duration) string {
	share := 1.0
	if p.total > 0 {
		share = min(float64(done)/float64(p.total), 1)
	}
	filled := int(share * barWidth)
	return fmt.Sprintf("%s%s %3.0f %%  %d of %d RPCs  %.0f per second ", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled),
		share*100, done, p.total, float64(done)/max(passed.Seconds(), 0.001))
}

// end ends the line of the bar.
func (p *progressBar) end() {
	if p.shown {
		fmt.Fprintln(p.w)
	}
}
