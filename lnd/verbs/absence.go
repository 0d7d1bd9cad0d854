package verbs

import "time"

// AbsenceMeter is implemented by devices that read in the goroutine which makes the upcalls. While
// an upcall takes long, nothing that arrives is read: neither answers of peers nor
// acknowledgements, so nothing completes either. A consumer that waits for peers leaves out that
// time. The device leaves it out of its own time-outs.
type AbsenceMeter interface {
	// Absence returns for how long upcalls have kept the device from reading since it was opened,
	// including those in progress. Absences of a small part of a second do not count: they are the
	// ordinary work for what has arrived. Of one absence only the first minute counts (MostAbsence).
	Absence() time.Duration
}

// MostAbsence is how much of one absence counts. Otherwise an upcall that never returns would keep
// all time-outs from ending. Local policy.
const MostAbsence = time.Minute
