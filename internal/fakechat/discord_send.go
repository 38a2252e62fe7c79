package fakechat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// nonceLife is how long enforce_nonce remembers; the documentation says "the
// past few minutes".
const nonceLife = 5 * time.Minute

// oldMessage is the age from which 30046 limits edits.
const oldMessage = time.Hour

// dcAttachment is a file of a message.
type dcAttachment struct{ DiscordAttachment }

func wireAttachments(m *dcMessage) []obj {
	list := []obj{}
	for _, a := range m.attachments {
		url := m.channel.dc.url + "/attachments/" + m.channel.ID + "/" + a.ID + "/" + a.Filename
		list = append(list, obj{
			"id": a.ID, "filename": a.Filename, "size": len(a.Data), "url": url, "proxy_url": url,
			"content_type": a.ContentType, "description": a.Description,
		})
	}
	return list
}

// write reads the fields of a message into m, which holds what was there before,
// and checks the result. New messages have empty ids.
func (q *dcQuery) write(m *dcMessage, fallback dcMentions) *dcError {
	f := &form{fields: q.fields}
	content := ""
	if f.read("content", &content) {
		m.content = strings.TrimSpace(content)
	}
	f.length("content", m.content, 0, maxContent)
	var embeds []*dcEmbed
	if f.read("embeds", &embeds) {
		m.embeds = embeds
		f.embeds("embeds", m.embeds)
	}
	m.writeFlags(f)
	var components []*dcComponent
	if f.read("components", &components) {
		m.components = components
		f.components(m.components, m.flags&flagComponentsV2 != 0)
	}
	m.writeFiles(f, q)
	m.writeNonce(f)
	m.writeReference(f)
	allowed := f.mentions(fallback)
	if m.flags&flagComponentsV2 != 0 {
		m.checkV2(f)
	}
	if err := f.err(); err != nil {
		return err
	}
	if m.empty() && m.flags&flagLoading == 0 && !f.has("poll", "sticker_ids") {
		return failure(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	m.ping(allowed)
	return nil
}

func (f *form) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		raw, ok := f.fields[name]
		return ok && !slices.Contains([]string{"null", "[]", `""`}, string(bytes.TrimSpace(raw)))
	})
}

func (m *dcMessage) empty() bool {
	return m.content == "" && len(m.embeds) == 0 && len(m.components) == 0 && len(m.attachments) == 0
}

// writeFlags: IS_COMPONENTS_V2 can be set and never unset (Discord, "Message":
// message flags).
func (m *dcMessage) writeFlags(f *form) {
	const settable = flagSuppressEmbeds | flagSuppressNotification | flagComponentsV2
	flags := 0
	if !f.has("flags") || !f.read("flags", &flags) {
		return
	}
	if m.flags&flagComponentsV2 != 0 && flags&flagComponentsV2 == 0 {
		f.add("flags", "MESSAGE_CANNOT_REMOVE_COMPONENTS_V2_FLAG", "The IS_COMPONENTS_V2 flag cannot be removed from a message")
	}
	m.flags = m.flags&^settable | flags&settable
}

// checkV2: a message with IS_COMPONENTS_V2 has only components; what it had before must be
// taken away with content null and embeds [].
func (m *dcMessage) checkV2(f *form) {
	legacy := map[string]bool{
		"content": m.content != "", "embeds": len(m.embeds) > 0, "poll": f.has("poll"), "sticker_ids": f.has("sticker_ids"),
	}
	for _, name := range []string{"content", "embeds", "poll", "sticker_ids"} {
		if legacy[name] {
			f.add(name, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
				"The '%s' field cannot be used when using MessageFlags.IS_COMPONENTS_V2", name)
		}
	}
}

// writeFiles takes the uploads, named files[n], with what attachments says about
// n; on an edit attachments also lists those that stay (Discord, "API
// Reference": uploading files).
func (m *dcMessage) writeFiles(f *form, q *dcQuery) {
	var listed []struct {
		ID          json.RawMessage `json:"id"`
		Filename    string          `json:"filename"`
		Description string          `json:"description"`
	}
	present := f.read("attachments", &listed)
	var kept []*dcAttachment
	described := make(map[string]string)
	named := make(map[string]string)
	for i, a := range listed {
		id := f.snowflake(index("attachments", i, "id"), a.ID)
		described[id], named[id] = a.Description, a.Filename
		old := slices.IndexFunc(m.attachments, func(o *dcAttachment) bool { return o.ID == id })
		switch {
		case old >= 0:
			kept = append(kept, m.attachments[old])
		case q.files["files["+id+"]"] == nil:
			f.add(index("attachments", i, "id"), "ATTACHMENT_NOT_FOUND", "Attachment data not found")
		}
	}
	if present {
		m.attachments = kept
	}
	m.attachments = slices.Clip(m.attachments)
	for _, name := range q.fileOrder {
		file := *q.files[name]
		number := strings.TrimSuffix(strings.TrimPrefix(name, "files["), "]")
		file.ID, file.Description = q.dc.newID(), described[number]
		if named[number] != "" {
			file.Filename = named[number]
		}
		m.attachments = append(m.attachments, &dcAttachment{file})
	}
	f.count("attachments", len(m.attachments), 0, 10)
}

// writeNonce: an integer or a string of up to 25 characters.
func (m *dcMessage) writeNonce(f *form) {
	if m.id != "" || !f.has("nonce") {
		return
	}
	m.nonce = f.fields["nonce"]
	var text string
	if json.Unmarshal(m.nonce, &text) == nil {
		f.length("nonce", text, 0, maxNonce)
		return
	}
	if _, err := strconv.ParseInt(string(m.nonce), 10, 64); err != nil {
		f.add("nonce", "BASE_TYPE_CONVERT", "Could not interpret %q.", clip(string(m.nonce)))
	}
}

func (m *dcMessage) writeReference(f *form) {
	if m.id != "" || !f.has("message_reference") {
		return
	}
	fail := true
	reference := struct {
		ID   json.RawMessage `json:"message_id"`
		Fail *bool           `json:"fail_if_not_exists"`
	}{Fail: &fail}
	f.read("message_reference", &reference)
	id := f.snowflake("message_reference.message_id", reference.ID)
	found := m.channel.byID[id]
	switch {
	case found != nil && !found.deleted:
		m.reference = id
	case reference.Fail == nil || *reference.Fail:
		f.add("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
	}
}

// createMessage is POST /channels/{channel}/messages.
func (dc *Discord) createMessage(q *dcQuery) (any, *dcError) {
	c, err := dc.readable(q.path("channel"))
	if err == nil {
		err = c.writable()
	}
	if err != nil {
		return nil, err
	}
	m := &dcMessage{channel: c, author: dc.me}
	if err := q.write(m, allMentions()); err != nil {
		return nil, err
	}
	enforce := false
	json.Unmarshal(q.fields["enforce_nonce"], &enforce)
	key := fmt.Sprintf("%s %s", m.author.ID, m.nonce)
	if enforce && m.nonce != nil {
		if old := c.nonces[key]; old != nil && dc.now().Sub(old.created) < nonceLife {
			dc.note("%s: nonce %s gives %s again", c.label(), m.nonce, old.id)
			return old.wire(), nil
		}
	}
	c.post(m)
	if m.nonce != nil {
		c.nonces[key] = m
	}
	return m.wire(), nil
}

// find is a message that the bot can see: ephemeral ones have no place in the
// channel.
func (dc *Discord) findMessage(q *dcQuery) (*dcMessage, *dcError) {
	c, err := dc.readable(q.path("channel"))
	if err != nil {
		return nil, err
	}
	if id := q.path("message"); !isSnowflake(id) {
		return nil, invalidForm("message_id", "NUMBER_TYPE_COERCE", "Value \""+id+"\" is not snowflake.")
	}
	m := c.byID[q.path("message")]
	if m == nil || m.deleted || m.flags&flagEphemeral != 0 {
		return nil, unknownMessage()
	}
	return m, nil
}

func (dc *Discord) getMessage(q *dcQuery) (any, *dcError) {
	m, err := dc.findMessage(q)
	if err != nil {
		return nil, err
	}
	return dc.seen(m), nil
}

func (dc *Discord) getMessages(q *dcQuery) (any, *dcError) {
	c, err := dc.readable(q.path("channel"))
	if err != nil {
		return nil, err
	}
	limit, before, after := 50, q.r.FormValue("before"), q.r.FormValue("after")
	if n, err := strconv.Atoi(q.r.FormValue("limit")); err == nil {
		limit = n
	}
	if limit < 1 || limit > 100 {
		return nil, invalidForm("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100.")
	}
	list := []obj{}
	for _, m := range slices.Backward(c.messages) {
		hidden := m.deleted || m.flags&flagEphemeral != 0
		if hidden || before != "" && !olderID(m.id, before) || after != "" && !olderID(after, m.id) || len(list) == limit {
			continue
		}
		list = append(list, dc.seen(m))
	}
	return list, nil
}

// editMessage is PATCH /channels/{channel}/messages/{message}.
func (dc *Discord) editMessage(q *dcQuery) (any, *dcError) {
	m, err := dc.findMessage(q)
	switch {
	case err != nil:
		return nil, err
	case m.author != dc.me || m.webhookID != "" && m.webhookID != dc.opts.ApplicationID:
		return nil, failure(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	case m.channel.archived:
		return nil, failure(http.StatusBadRequest, 50083, "Thread is archived")
	case m.channel.locked: // a guess: not documented for edits
		return nil, failure(http.StatusForbidden, 160005, "This thread is locked")
	}
	if dc.now().Sub(m.created) >= oldMessage {
		if err := dc.limits.takeOldEdit(dc.now(), m.channel); err != nil {
			return nil, err
		}
	}
	return q.rewrite(m, allMentions())
}

// rewrite edits a message, whole or not at all.
func (q *dcQuery) rewrite(m *dcMessage, fallback dcMentions) (any, *dcError) {
	draft := *m
	if err := q.write(&draft, fallback); err != nil {
		return nil, err
	}
	*m = draft
	m.touch()
	return m.wire(), nil
}

func (dc *Discord) deleteMessage(q *dcQuery) (any, *dcError) {
	m, err := dc.findMessage(q)
	switch {
	case err != nil:
		return nil, err
	case m.author == dc.me:
	case m.channel.Guild == nil:
		return nil, failure(http.StatusForbidden, 50003, "Cannot execute action on a DM channel")
	case m.channel.Guild.permissions(m.channel.Guild.members[dc.me.ID])&PermissionManageMessages == 0:
		return nil, failure(http.StatusForbidden, 50013, "Missing Permissions")
	}
	m.remove()
	return nil, nil
}
