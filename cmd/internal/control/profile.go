package control

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
)

const (
	profilePath = "/v1/profile/{profile}"
	// maxProfile is the longest time of a profile.
	maxProfile = 5 * time.Minute
	// UsualProfile is the time of a profile for which the client names none.
	UsualProfile = 30 * time.Second
)

// ProfileRequest asks for a profile of the daemon's process.
type ProfileRequest struct {
	Name string        `query:"profile"` // cpu, trace, or the name of a profile of runtime/pprof, such as heap
	Time time.Duration `query:"time"`    // time for which cpu and trace record, up to 5 minutes; 0: UsualProfile
	Text bool          `query:"text"`    // text for people, with the stack of each goroutine; not for cpu and trace
}

// Defaults sets the usual time.
func (r *ProfileRequest) Defaults() { r.Time = UsualProfile }

// Check refuses profiles that do not exist, and times out of range.
func (r *ProfileRequest) Check() error {
	if all := Profiles(); !slices.Contains(all, r.Name) {
		return cli.Hint(fmt.Errorf("there is no profile %q", r.Name), "there are %s", strings.Join(all, ", "))
	}
	if r.Time <= 0 || r.Time > maxProfile {
		return fmt.Errorf("time: want a time up to %v, not %v", maxProfile, r.Time)
	}
	return nil
}

// Profiles returns the names of all profiles.
func Profiles() []string {
	names := []string{"cpu", "trace"}
	for _, p := range pprof.Profiles() {
		names = append(names, p.Name())
	}
	slices.Sort(names)
	return names
}

// profile answers with a profile: as go tool pprof reads it, or go tool trace, or as text.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) error {
	var req ProfileRequest
	if err := queryOf(r, &req); err != nil {
		return err
	}
	out := s.stallWriter(w)
	w.Header().Set("Content-Type", "application/octet-stream")
	switch req.Name {
	case "cpu":
		return record(r.Context(), out, req.Time, pprof.StartCPUProfile, pprof.StopCPUProfile)
	case "trace":
		return record(r.Context(), out, req.Time, trace.Start, trace.Stop)
	}
	debug := 0
	if req.Text {
		debug = 2 // as text; 2 shows each goroutine by itself, and is the same as 1 for other profiles
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	_ = pprof.Lookup(req.Name).WriteTo(out, debug) // fails if the client has closed the connection
	return nil
}

// record writes a profile of some time to out. It ends earlier if ctx ends. The process can
// record one profile of each kind at a time.
func record(ctx context.Context, out *stallWriter, length time.Duration, start func(io.Writer) error, stop func()) error {
	if err := start(out); err != nil {
		return &refusal{http.StatusConflict, cli.Hint(err, "another client is recording one: try again when that is over")}
	}
	defer stop()
	end := time.NewTimer(length)
	defer end.Stop()
	select {
	case <-end.C:
	case <-ctx.Done():
	}
	return nil
}

// Profile returns a profile of the daemon, as it arrives. The caller closes the reader.
func (c *Client) Profile(ctx context.Context, req ProfileRequest) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, encodeQuery(profilePath, req), nil, nil)
}
