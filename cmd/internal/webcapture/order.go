package webcapture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"ulnet/cmd/internal/dissection"
)

// Bounds of the values of an order, and their defaults.
const (
	MaxSeconds     = 600
	DefaultSeconds = 30
	MaxMiB         = 64
	DefaultMiB     = 16
	maxWanted      = 64 // bound on the elements of each list of the filter
)

// Order says what to capture.
type Order struct {
	Seconds int  `json:"seconds"` // the capture ends after this time, 1 to MaxSeconds; 0: DefaultSeconds
	MiB     int  `json:"mib"`     // the capture ends when it has this many MiB, 1 to MaxMiB; 0: DefaultMiB
	Payload bool `json:"payload"` // with payload, not headers alone

	// The filter selects which messages the stream shows; an empty list selects all. It does
	// not select what is kept. See dissection.Wanted.
	NIDs    []string `json:"nids"`    // NIDs, at most 64
	Types   []string `json:"types"`   // names of types, at most 64
	Portals []uint   `json:"portals"` // numbers of portals, at most 64
}

// ReadOrder reads and checks an order.
func ReadOrder(r *http.Request) (o Order, filter *dissection.Filter, err error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, nil, fmt.Errorf("the order is no JSON object of this form: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // reads to the end: only then does the server notice when the client goes away
		return o, nil, errors.New("there is something behind the order")
	}
	if o.Seconds == 0 {
		o.Seconds = DefaultSeconds
	}
	if o.MiB == 0 {
		o.MiB = DefaultMiB
	}
	switch {
	case o.Seconds < 1 || o.Seconds > MaxSeconds:
		return o, nil, fmt.Errorf("seconds: want 1 to %d, not %d", MaxSeconds, o.Seconds)
	case o.MiB < 1 || o.MiB > MaxMiB:
		return o, nil, fmt.Errorf("mib: want 1 to %d, not %d", MaxMiB, o.MiB)
	case max(len(o.NIDs), len(o.Types), len(o.Portals)) > maxWanted:
		return o, nil, fmt.Errorf("a list of the filter has at most %d elements", maxWanted)
	}
	filter, err = dissection.NewFilter(dissection.Wanted{NIDs: o.NIDs, Types: o.Types, Portals: o.Portals})
	return o, filter, err
}
