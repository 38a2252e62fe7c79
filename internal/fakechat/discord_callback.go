package fakechat

import (
	"encoding/json"
	"net/http"
	"slices"
)

// maxInstalledFollowups is how many follow-ups an application has that only the
// person installed (Discord, "Receiving and Responding to Interactions").
const maxInstalledFollowups = 5

// inner is the same request with an inner object as its body.
func (q *dcQuery) inner(name string) *dcQuery {
	inner := *q
	inner.raw, inner.fields = q.fields[name], nil
	_ = json.Unmarshal(inner.raw, &inner.fields)
	return &inner
}

// under puts the paths of a form error below a field.
func (e *dcError) under(name string) *dcError {
	moved := *e
	moved.fields = slices.Clone(e.fields)
	for i := range moved.fields {
		moved.fields[i].path = name + "." + moved.fields[i].path
	}
	return &moved
}

// callback is POST /interactions/{interaction}/{token}/callback.
func (dc *Discord) callback(q *dcQuery) (any, *dcError) {
	i := dc.byInteract[q.path("interaction")]
	if i == nil || i.Token != q.path("token") {
		return nil, failure(http.StatusNotFound, 10062, "Unknown interaction")
	}
	if err := i.respond(q); err != nil {
		return nil, err
	}
	if q.r.URL.Query().Get("with_response") != "true" {
		return nil, nil
	}
	return i.callbackWire(), nil
}

func (i *DiscordInteraction) callbackWire() obj {
	about := obj{"id": i.ID, "type": i.kind}
	resource := obj{"type": i.response.Type}
	if i.original != nil {
		about["response_message_id"] = i.original.id
		about["response_message_loading"] = i.original.flags&flagLoading != 0
		about["response_message_ephemeral"] = i.original.flags&flagEphemeral != 0
		resource["message"] = i.original.wire()
	}
	return obj{"interaction": about, "resource": resource}
}

// respond takes the first response: only one, and only in its window.
func (i *DiscordInteraction) respond(q *dcQuery) *dcError {
	switch {
	case i.acked:
		return failure(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	case i.late():
		return failure(http.StatusNotFound, 10062, "Unknown interaction")
	}
	f, kind := &form{fields: q.fields}, 0
	f.read("type", &kind)
	if f.err() == nil && !i.takes(kind) {
		f.add("type", "BASE_TYPE_CHOICES", "Value must be a callback type that answers this interaction.")
	}
	if err := f.err(); err != nil {
		return err
	}
	response := DiscordResponse{Type: kind}
	if err := i.carryOut(q.inner("data"), &response); err != nil {
		if len(err.fields) > 0 {
			err = err.under("data")
		}
		return err
	}
	i.acked, i.response = true, response
	i.timer.Stop()
	i.dc.note("interaction %s is answered with type %d", i.ID, kind)
	return nil
}

// takes says which callback types answer which interaction.
func (i *DiscordInteraction) takes(kind int) bool {
	switch kind {
	case CallbackMessage, CallbackDeferredMessage, CallbackActivity:
		return i.kind != interactionAutocomplete
	case CallbackDeferredUpdate, CallbackUpdate:
		return i.message != nil
	case CallbackAutocomplete:
		return i.kind == interactionAutocomplete
	case CallbackModal:
		return i.kind == interactionCommand || i.kind == interactionComponent
	}
	return false
}

// carryOut does what a callback type does; data is the inner object.
func (i *DiscordInteraction) carryOut(data *dcQuery, response *DiscordResponse) *dcError {
	switch response.Type {
	case CallbackMessage:
		m := i.newMessage(data)
		if err := data.write(m, userMentions()); err != nil {
			return err
		}
		i.show(m)
		i.original = m
	case CallbackDeferredMessage:
		m := i.newMessage(data)
		m.flags |= flagLoading
		i.show(m)
		i.original, i.awaiting = m, true
	case CallbackDeferredUpdate:
		i.original = i.message
		return nil
	case CallbackUpdate:
		if i.message.deleted {
			return unknownMessage()
		}
		if _, err := data.rewrite(i.message, userMentions()); err != nil {
			return err
		}
		i.original = i.message
	case CallbackModal:
		modal, err := data.modal()
		response.Modal = modal
		return err
	case CallbackAutocomplete:
		return data.choices(response)
	}
	if i.original != nil {
		response.Message = i.original.public()
		response.Content, response.Flags, response.Ephemeral = i.original.content, i.original.flags, response.Message.Ephemeral
	}
	return nil
}

// newMessage is a message in answer to the interaction. It is sent by the
// application's webhook; EPHEMERAL can be set only now.
func (i *DiscordInteraction) newMessage(data *dcQuery) *dcMessage {
	m := &dcMessage{
		channel: i.channel, author: i.dc.me, webhookID: i.dc.opts.ApplicationID, applicationID: i.dc.opts.ApplicationID, interaction: i,
	}
	flags := 0
	_ = json.Unmarshal(data.fields["flags"], &flags)
	if flags&flagEphemeral != 0 {
		m.flags, m.onlyFor = flagEphemeral, i.user
	}
	return m
}

func (i *DiscordInteraction) show(m *dcMessage) {
	i.channel.post(m)
	i.shown = append(i.shown, m)
}

// modal reads and checks a modal (Discord, "Modal"): 1 to 5 components, inputs in
// labels or, as before 2025, in rows.
func (q *dcQuery) modal() (*DiscordModal, *dcError) {
	f, modal := &form{fields: q.fields}, &DiscordModal{}
	f.read("custom_id", &modal.CustomID)
	f.read("title", &modal.Title)
	f.read("components", &modal.components)
	f.length("custom_id", modal.CustomID, 1, 100)
	f.length("title", modal.Title, 1, 45)
	f.count("components", len(modal.components), 1, 5)
	check := componentForm{form: f, custom: make(map[string]bool), ids: make(map[int]bool)}
	for i, c := range modal.components {
		path := index("components", i)
		if c == nil || c.Type != componentRow {
			check.one(path, c, []int{componentRow, componentText, componentLabel})
			continue
		}
		f.count(path+".components", len(c.Components), 1, 1)
		check.list(path+".components", c.Components, []int{componentInput})
		for k, input := range c.Components {
			if input != nil {
				f.length(index(path+".components", k, "label"), input.Label, 1, 45)
			}
		}
	}
	check.number(modal.components)
	if err := f.err(); err != nil {
		return nil, err
	}
	for _, c := range modal.components {
		for _, input := range c.children() {
			modal.Inputs = append(modal.Inputs, input.input(c.Label))
		}
	}
	return modal, nil
}

// input is a field of a modal; its name is in the label around it.
func (c *dcComponent) input(label string) DiscordInput {
	in := DiscordInput{CustomID: c.customID(), Label: label, Placeholder: c.Placeholder, Value: c.Value, Required: true}
	if label == "" {
		in.Label = c.Label
	}
	if c.Required != nil {
		in.Required = *c.Required
	}
	if c.MinLength != nil {
		in.MinLength = *c.MinLength
	}
	if c.MaxLength != nil {
		in.MaxLength = *c.MaxLength
	}
	return in
}

func (q *dcQuery) choices(response *DiscordResponse) *dcError {
	var choices []struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	f := &form{fields: q.fields}
	f.read("choices", &choices)
	f.count("choices", len(choices), 0, 25)
	for i, choice := range choices {
		f.length(index("choices", i, "name"), choice.Name, 1, 100)
		response.Choices = append(response.Choices, choice.Name)
	}
	return f.err()
}

// webhook finds the interaction of a token. Its webhook exists from the first
// response on and its token lives 15 minutes.
func (dc *Discord) webhook(q *dcQuery) (*DiscordInteraction, *dcError) {
	i := dc.interactions[q.path("token")]
	switch {
	case q.path("application") != dc.opts.ApplicationID:
		return nil, failure(http.StatusNotFound, 10015, "Unknown Webhook")
	case i == nil, i.expired():
		return nil, failure(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	case !i.acked:
		return nil, failure(http.StatusNotFound, 10015, "Unknown Webhook")
	}
	return i, nil
}

// createFollowup is POST /webhooks/{application}/{token}. After a deferred
// message the first one fills that message.
func (dc *Discord) createFollowup(q *dcQuery) (any, *dcError) {
	i, err := dc.webhook(q)
	if err != nil {
		return nil, err
	}
	if i.awaiting && !i.original.deleted {
		return i.fill(q, i.original)
	}
	if i.installed && len(i.followups) >= maxInstalledFollowups {
		return nil, failure(http.StatusBadRequest, 40094, "This interaction has reached its maximum number of follow up messages")
	}
	m := i.newMessage(q)
	if err := q.write(m, userMentions()); err != nil {
		return nil, err
	}
	i.show(m)
	i.followups = append(i.followups, m)
	return m.wire(), nil
}

// fill edits a message of the interaction; one that said "thinking…" stops.
func (i *DiscordInteraction) fill(q *dcQuery, m *dcMessage) (any, *dcError) {
	loading := m.flags & flagLoading
	m.flags &^= flagLoading
	wire, err := q.rewrite(m, userMentions())
	if err != nil {
		m.flags |= loading
		return nil, err
	}
	if m == i.original {
		i.awaiting = false
	}
	return wire, nil
}

// followup finds a message that the token can reach: those of the interaction
// and the one that the component is on.
func (dc *Discord) followup(q *dcQuery) (*DiscordInteraction, *dcMessage, *dcError) {
	i, err := dc.webhook(q)
	if err != nil {
		return nil, nil, err
	}
	m, id := i.original, q.path("message")
	if id != "@original" {
		m = nil
		for _, own := range append(slices.Clone(i.shown), i.message) {
			if own != nil && own.id == id {
				m = own
			}
		}
	}
	if m == nil || m.deleted {
		return nil, nil, unknownMessage()
	}
	return i, m, nil
}

func (dc *Discord) getFollowup(q *dcQuery) (any, *dcError) {
	_, m, err := dc.followup(q)
	if err != nil {
		return nil, err
	}
	return m.wire(), nil
}

func (dc *Discord) editFollowup(q *dcQuery) (any, *dcError) {
	i, m, err := dc.followup(q)
	if err != nil {
		return nil, err
	}
	return i.fill(q, m)
}

func (dc *Discord) deleteFollowup(q *dcQuery) (any, *dcError) {
	_, m, err := dc.followup(q)
	if err != nil {
		return nil, err
	}
	m.remove()
	return nil, nil
}
