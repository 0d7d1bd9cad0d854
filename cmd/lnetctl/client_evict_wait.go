package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// evictLook is the interval in which the command asks for the progress of evictions.
const evictLook = 100 * time.Millisecond

// evictionGoesOn is the hint for an eviction that some live servers have not answered.
const evictionGoesOn = "it goes on until they have answered, or are dead: 'lnetctl server list' shows who is, 'lnetctl client history' what was evicted here"

// wait waits until all live servers have answered the evictions that have begun, or the time
// limit is over. It prints the servers that have not answered.
func (e *evictor) wait(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said := ""
	err := cli.Repeat(ctx, evictLook, func() error {
		missing, err := e.look(ctx)
		switch {
		case err != nil:
			return err
		case missing == "":
			return cli.ErrEnough
		case missing != said:
			said = missing
			fmt.Fprintln(e.talk, "waits for "+missing)
		}
		return nil
	})
	if err == nil && ctx.Err() != nil {
		return e.over(ctx, limit)
	}
	return cmp.Or(err, e.ended())
}

// look asks the daemon for the progress of each eviction that is under way. Then it returns the
// result of the method missing.
func (e *evictor) look(ctx context.Context) (missing string, err error) {
	for i := range e.list {
		d := &e.list[i]
		if d.Result != health.OK || d.Wait != nil && d.Wait.State != healthmod.EvictionUnderWay {
			continue
		}
		w, err := healthmod.OpEviction.Call(ctx, e.g.client(), healthmod.EvictionQuery{Client: d.Client, Incarnation: d.Incarnation})
		if err != nil {
			return "", err
		}
		d.Wait = &w
	}
	return e.missing(), nil
}

// missing names the servers that have not yet answered the evictions that are under way. If none is
// known, it says that too many servers are dead. It returns "" if no eviction is under way.
func (e *evictor) missing() string {
	var servers []nid.NID
	waits := false
	for i := range e.list {
		if w := e.list[i].Wait; w != nil && w.State == healthmod.EvictionUnderWay {
			waits = true
			servers = append(servers, w.Missing...)
		}
	}
	slices.SortFunc(servers, nid.NID.Compare)
	switch text := nidText(slices.Compact(servers)); {
	case !waits:
		return ""
	case text == "":
		return "most servers, of which too many are dead"
	default:
		return text
	}
}

// over returns the error of a wait that ended before all servers had answered.
func (e *evictor) over(ctx context.Context, limit time.Duration) error {
	why := fmt.Sprintf("not evicted from all servers after %v", limit)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "interrupted"
	}
	missing := cmp.Or(e.missing(), "lnetd did not say which")
	return cli.Hint(fmt.Errorf("%s; no answer of: %s", why, missing), evictionGoesOn)
}

// ended returns an error that lists evictions that have ended without evicting the client, or
// nil if there are none.
func (e *evictor) ended() error {
	var errs []error
	for i := range e.list {
		d := &e.list[i]
		if d.Wait == nil {
			continue
		}
		switch d.Wait.State {
		case healthmod.EvictionKept:
			errs = append(errs, cli.Hint(fmt.Errorf("client %v was not evicted: it has chosen %v as its master meanwhile", d.Client, d.Wait.Master),
				"on %v: lnetctl client evict %v", d.Wait.Master, d.Client))
		case healthmod.EvictionCutOff:
			errs = append(errs, cli.Hint(fmt.Errorf("client %v was evicted from this server only, which has lost its quorum meanwhile", d.Client),
				"when 'lnetctl health status' says 'quorum: yes', evict it at its master"))
		case healthmod.EvictionUnknown:
			errs = append(errs, cli.Hint(fmt.Errorf("what came of the eviction of client %v is not known here any more", d.Client),
				"was lnetd restarted? 'lnetctl client show %v' says whether it is connected", d.Client))
		}
	}
	return errors.Join(errs...)
}

// print prints which clients are being evicted or have been evicted.
func (e *evictor) print() error {
	switch {
	case len(e.list) == 0:
		return nil
	case e.g.json && e.many:
		return cli.JSON(e.out, struct {
			Clients []evictedDoc `json:"clients"`
		}{e.list})
	case e.g.json:
		return cli.JSON(e.out, &e.list[0])
	}
	for i := range e.list {
		if line := e.list[i].line(); line != "" {
			fmt.Fprintln(e.out, line)
		}
	}
	return nil
}

// line describes the result of an eviction that has begun; it is "" for an eviction that has
// not.
func (d *evictedDoc) line() string {
	who := fmt.Sprintf("client %v", d.Client)
	if d.Name != "" {
		who += fmt.Sprintf(" %q", d.Name)
	}
	switch {
	case d.Result != health.OK:
		return ""
	case d.Wait == nil || d.Wait.State == healthmod.EvictionUnderWay:
		return who + " is being evicted from all servers"
	case d.Wait.State != healthmod.EvictionDone:
		return ""
	case len(d.Wait.Owed) > 0:
		return fmt.Sprintf("%s was evicted from all live servers; these are dead, and are told if they come back soon: %s", who, nidText(d.Wait.Owed))
	}
	return who + " was evicted from all servers"
}

// nidText formats a list of NIDs.
func nidText(ids []nid.NID) string {
	var names []string
	for _, id := range ids {
		names = append(names, id.String())
	}
	return strings.Join(names, " ")
}
