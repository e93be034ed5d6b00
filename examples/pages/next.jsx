// What Next.js does in the browser: it takes over what was rendered on the server.
import { hydrateRoot } from "react-dom/client";
import Approvals from "./NextPage.jsx";

hydrateRoot(document.getElementById("root"), <Approvals approval={new URLSearchParams(location.search).get("approval")} />);
