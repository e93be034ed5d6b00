"""Sends a mail for each notice of an approval.

export GATE_SECRETS=whsec_… MAIL_HOST=smtp.example.com MAIL_FROM=gate@example.com MAIL_TO=desk@example.com
uvicorn mail:app --port 9000
"""

import os
import smtplib
from email.message import EmailMessage

from hooks import Json, receiver, sentence


def tell(notice: Json) -> None:
    data = notice["data"]
    message = EmailMessage()
    message["From"], message["To"] = os.environ["MAIL_FROM"], os.environ["MAIL_TO"]
    message["Subject"] = sentence(notice)
    message["References"] = f"<{data['approval_id']}@agui-gate>"  # one conversation for each call
    message.set_content(f"{sentence(notice)}.\n\n{data.get('link', '')}\n")
    with smtplib.SMTP(os.environ["MAIL_HOST"], int(os.environ.get("MAIL_PORT", "25")), timeout=8) as server:
        server.send_message(message)


app = receiver(tell, os.environ.get("GATE_SECRETS", "").split())
