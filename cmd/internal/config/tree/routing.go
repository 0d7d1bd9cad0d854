package tree

import (
	"encoding/json"
	"errors"
)

// Routing is the state of a node as a router.
type Routing struct {
	Pools  *Pools // router buffers; nil in a backup
	Enable *int   // 0: off, 1: on; ulnet adds 2: stopping, 3: starting
	// Buffers is set while a file is read that has the numbers of buffers in the section routing;
	// see Item.
	Buffers *Buffers
}

// Pools are the router buffers by size.
type Pools struct {
	Tiny  Pool `json:"tiny"`  // buffers for messages without payload
	Small Pool `json:"small"` // buffers of one page
	Large Pool `json:"large"` // buffers of 1 MiB
}

// Pool is the state of router buffers of one size.
type Pool struct {
	Pages   int `json:"npages"`     // number of pages in each buffer
	Buffers int `json:"nbuffers"`   // number of buffers
	Credits int `json:"credits"`    // free buffers; negative: number of messages that wait
	Min     int `json:"mincredits"` // smallest number of free buffers so far
}

// Buffers is how many router buffers there are. A nil field is not set.
type Buffers struct {
	Tiny  *int `json:"tiny,omitempty"`  // number of buffers for messages without payload
	Small *int `json:"small,omitempty"` // number of buffers of one page
	Large *int `json:"large,omitempty"` // number of buffers of 1 MiB
}

// routingItem is one key of the section routing: if the section shows buffers it is a list of
// such items, otherwise a mapping.
type routingItem struct {
	Pools  *Pools `json:"cpt[0],omitempty"`
	Enable *int   `json:"enable,omitempty"`
	Buffers
}

// MarshalJSON implements json.Marshaler.
func (r Routing) MarshalJSON() ([]byte, error) {
	if r.Pools == nil {
		return json.Marshal(routingItem{Enable: r.Enable})
	}
	return json.Marshal([]routingItem{{Pools: r.Pools}, {Enable: r.Enable}})
}

// UnmarshalJSON accepts a routing section in both forms.
func (r *Routing) UnmarshalJSON(text []byte) error {
	var list []routingItem
	var one routingItem
	if json.Unmarshal(text, &list) != nil {
		if err := json.Unmarshal(text, &one); err != nil {
			return errors.New("want enable, or a list of buffers and enable")
		}
		list = append(list, one)
	}
	*r = Routing{}
	for _, item := range list {
		if item.Pools != nil {
			r.Pools = item.Pools
		}
		if item.Enable != nil {
			r.Enable = item.Enable
		}
		if item.Buffers != (Buffers{}) {
			r.Buffers = &item.Buffers
		}
	}
	return nil
}

// IsRouter reports whether the node is a router: a node that is starting as a router counts, one
// that is stopping does not.
func (r *Routing) IsRouter() bool { return r.Enable != nil && (*r.Enable == 1 || *r.Enable == 3) }

// backup returns only that the node is a router, or nil if it is not one.
func (r *Routing) backup() *Routing {
	if !r.IsRouter() {
		return nil
	}
	return &Routing{Enable: new(1)}
}
