package effective

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"approvalbot/internal/config"
	"approvalbot/internal/schedule"
)

// ReadCalendar reads the file of a calendar, up to a byte more than one may have.
func ReadCalendar(path string) ([]byte, error) {
	at, err := os.Stat(path)
	if err == nil && !at.Mode().IsRegular() {
		return nil, errors.New("it is not an ordinary file") // reading a pipe could wait without end
	}
	f, err := os.Open(path)
	var cause *fs.PathError
	if errors.As(err, &cause) {
		return nil, cause.Err
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, schedule.MaxCalendar+1))
}

// DutyFromFiles is Duty with the calendars that are files read.
func DutyFromFiles(c config.Config, now time.Time) schedule.Duty {
	duty := Duty(c)
	for _, of := range duty.Calendars() {
		_ = of.Refresh(context.Background(), now, fromFile) // a later question for the person on duty gives the reason
	}
	return duty
}

func fromFile(_ context.Context, source string) ([]byte, error) {
	if (config.Roster{Calendar: config.Secret(source)}).CalendarFile() == "" {
		return nil, errors.New("it is a URL, which only the running desk and doctor read")
	}
	return ReadCalendar(source)
}

// Calendars warns of calendar files that cannot be read now. Only verbs that check a
// file use it: a desk starts without them, and goes on with the copies that it has.
func Calendars(r *config.Report, cfg config.Config) {
	c := &checker{r}
	duty := Duty(cfg)
	for i, roster := range cfg.ApprovalTools().OnDuty {
		for _, of := range duty.Calendars() {
			if of.Roster != roster.Name || roster.CalendarFile() == "" {
				continue
			}
			if err := of.Refresh(context.Background(), time.Now(), fromFile); err != nil {
				c.Warn(config.Index("approvals.tools.onDuty", i)+".calendar", "%s; until it can be read, all of the "+
					"roster are on duty", err)
			}
		}
	}
}
