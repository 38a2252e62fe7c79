"""Asks the approval desk before a tool of an agent runs. One file, to copy; Python 3.9 and its standard library.

    desk = Desk()                      # APPROVALBOT_TOKEN, APPROVALBOT_SERVER

    @desk.guard                        # the tool runs only with a claim of the very call; else Denied is raised
    def bash(command): ...

    desk.ask("bash", {"command": "ls"}, call_id="call_1")  # the same for a framework: gives the reason, or raises Denied

Whatever goes wrong is a deny.
"""
import functools, hashlib, http.client, inspect, json, os, time, urllib.error, urllib.request, uuid


class Denied(Exception):
    """The tool did not run; the text is for its model."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    redirect_request = lambda *_: None  # the token is for one server


class Desk:
    def __init__(self, server=None, token=None, session_key=None):
        server = server or os.environ.get("APPROVALBOT_SERVER", "http://127.0.0.1:8787")
        self._url = server.rstrip("/") + "/v1/approvals"
        self._token = token or os.environ.get("APPROVALBOT_TOKEN")
        self._session = session_key or str(uuid.uuid4())
        if not self._token:
            raise ValueError("approvalbot: there is no API token; set APPROVALBOT_TOKEN")

    def ask(self, tool, params, call_id=None, justification=None):
        """Returns why it may run. call_id names the call: the same one again is the same question, and no second card."""
        name = "%s\n%s" % (self._session, call_id or uuid.uuid4())
        request = {"id": hashlib.sha256(name.encode()).hexdigest(), "toolName": tool, "params": params, "sessionKey": self._session}
        if justification:
            request["justification"] = justification
        path = "?wait=55s&claim=1&claimId=%s" % uuid.uuid4()  # a model that names its call again gets no second run
        try:
            while (answer := self._post(path, request))["status"] == "pending":
                pass
            if answer["status"] != "approved":
                by = ", ".join(d.removeprefix("person:") for d in answer.get("decidedBy", []))
                raise Denied("approvalbot: not run: %s%s: %s" % (answer["status"], by and " by " + by, answer.get("reason", "")))
            claim = answer.get("claim") or {}
            if claim.get("toolName") != tool or claim.get("params") != params:
                raise Denied("approvalbot: not run: no claim of this very call")
            return answer.get("reason") or "approved"
        except Denied:
            raise
        except urllib.error.HTTPError as e:
            raise Denied("approvalbot: not run: %s (%d)" % (e.read(2000).decode(errors="replace"), e.code)) from None
        except Exception as e:
            raise Denied("approvalbot: not run: the approval desk gave no answer (%s)" % type(e).__name__) from None

    def guard(self, function):
        """Decorates a tool: its name and its arguments, by their names, are what is asked for."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def guarded(*args, **kwargs):
            call = signature.bind(*args, **kwargs)
            call.apply_defaults()
            self.ask(function.__name__, dict(call.arguments))
            return function(*args, **kwargs)

        return guarded

    def _post(self, path, body, tries=4):
        """It may be sent again: the ids see to that."""
        headers = {"Authorization": "Bearer " + self._token, "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=90) as answer:
                return json.load(answer)
        except (OSError, http.client.HTTPException) as e:
            if tries == 1 or isinstance(e, urllib.error.HTTPError) and e.code not in (429, 502, 503, 504):
                raise
            time.sleep(1)
            return self._post(path, body, tries - 1)
