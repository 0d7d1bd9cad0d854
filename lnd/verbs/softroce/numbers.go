package softroce

import "ulnet/lnd/verbs/ibta"

// Numbers chooses the numbers that a device is free to choose. Tests that replay recordings
// inject their own; otherwise they are random, because what can be guessed can be forged.
type Numbers interface {
	// GUID returns the GUID of the device. CommID and QPN return the numbers of its first
	// connection and of its first queue pair; later ones get the numbers that follow. With
	// random numbers, those that follow are not known either.
	GUID() ibta.GUID
	CommID() ibta.CommID
	QPN() ibta.QPN
	// PSN returns the number with which the peer's requester begins. It is called for each
	// connection.
	PSN() ibta.PSN
	// RKey and Address are called for each region, and again while their results are taken by other
	// regions. A region of length bytes lies at Address.
	RKey() ibta.RKey
	Address(length uint64) uint64
}

type randomNumbers struct{}

func (randomNumbers) CommID() ibta.CommID { return ibta.CommID(unguessable()) }
func (randomNumbers) QPN() ibta.QPN       { return ibta.QPN(unguessable() & psnMask) }
func (randomNumbers) PSN() ibta.PSN       { return ibta.PSN(unguessable() & psnMask) }
func (randomNumbers) RKey() ibta.RKey     { return ibta.RKey(unguessable()) }

// GUID returns a random GUID that is marked as locally administered.
func (randomNumbers) GUID() ibta.GUID {
	const local = 0x02 << 56
	return ibta.GUID(local | unguessable()>>8)
}

// Address returns a random address at the beginning of a page, in the range that addresses of a
// process have. Every region fits behind it.
func (randomNumbers) Address(uint64) uint64 {
	const page, space = 1 << 12, 1 << 47
	return page + unguessable()%(space-page)&^(page-1)
}
